package session_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/deft-dev/deft/session"
)

// TestOutputAcrossPieces prints a secret a few characters at a time: watchers
// see none of it, and everything else, also what looked like its beginning.
func TestOutputAcrossPieces(t *testing.T) {
	t.Parallel()
	h := setup(t, inTurn(shell("trickle"), finished("ok")), nil)
	h.tools.hidden = "hunter2-hunter2"
	c := h.begin(t, `"secrets":{"TOKEN":{"kind":"StaticSecret","value":"hunter2-hunter2"}}`)
	var mu sync.Mutex
	var shown strings.Builder
	defer c.Watch(func(t session.Transient) {
		mu.Lock()
		defer mu.Unlock()
		if t.Output != nil {
			shown.WriteString(t.Output.Text)
		}
	})()
	send(t, c, "go")
	settle(t, c)
	mu.Lock()
	defer mu.Unlock()
	if got, want := shown.String(), "it is <secret-hidden>, or hun"; got != want {
		t.Errorf("watchers saw %q, want %q", got, want)
	}
}
