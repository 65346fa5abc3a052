package session_test

import (
	"os"
	"strings"
	"testing"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
)

// TestReplacedWorkspace exchanges the directory of a conversation for a link and for
// another directory: the conversation must not work there.
func TestReplacedWorkspace(t *testing.T) {
	t.Parallel()
	h := setup(t, inTurn(says("one"), says("two"), says("three")), nil)
	c := h.begin(t, "")
	send(t, c, "hi")
	settle(t, c)
	id, dir := c.ID(), c.Workspace()
	move := func(from, to string) {
		t.Helper()
		must.Succeed(t, os.Rename(from, to))
	}
	refused := func(what string) {
		t.Helper()
		h.restart(t)
		c := h.get(t, id)
		if err := c.CheckWorkspace(); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: check: %v", what, err)
		}
		if err := c.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "is not the directory") {
			t.Errorf("%s: run: %v", what, err)
		}
	}
	move(dir, dir+".original")
	must.Succeed(t, os.Symlink(dir+".original", dir))
	refused("a link")
	must.Succeed(t, os.Remove(dir))
	must.Succeed(t, os.Mkdir(dir, 0o700))
	refused("another directory")
	move(dir, dir+".other")
	move(dir+".original", dir)
	h.restart(t)
	c = h.get(t, id)
	send(t, c, "again")
	settle(t, c)
}
