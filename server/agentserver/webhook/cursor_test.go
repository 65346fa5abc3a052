package webhook_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/server/agentserver/webhook"
)

func openFile(t testing.TB, path string) *webhook.File {
	t.Helper()
	c, err := webhook.OpenFile(path)
	must.Succeed(t, err)
	return c
}

func TestCursors(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "cursors")
	c := openFile(t, path)
	if c.Known("e") {
		t.Error("knows an endpoint before it began")
	}
	must.Succeed(t, c.Begin("e", map[event.ConversationID]eventstream.Seq{"a": 7, "b": 8}))
	for i := range 5000 {
		must.Succeed(t, c.Set("e", "a", eventstream.Seq(i)))
	}
	must.Succeed(t, c.Forget("b"))
	must.Succeed(t, c.Set("e", "c", 3))
	// As after kill -9: not closed, and the last line is torn.
	raw, err := os.ReadFile(path)
	must.Succeed(t, err)
	if n := strings.Count(string(raw), "\n"); n > 1100 {
		t.Errorf("%d lines for two cursors", n)
	}
	torn := filepath.Join(t.TempDir(), "torn")
	must.Succeed(t, os.WriteFile(torn, append(raw, "e c 12"...), 0o600))
	for _, p := range []string{path, torn} {
		again := openFile(t, p)
		if !again.Known("e") || again.Get("e", "a") != 4999 || again.Get("e", "b") != 0 || again.Get("e", "c") != 3 {
			t.Errorf("%s: a %d, b %d, c %d", p, again.Get("e", "a"), again.Get("e", "b"), again.Get("e", "c"))
		}
		must.Report(t, again.Close())
	}
	must.Report(t, c.Close())
}

// FuzzCursors opens any file; understood cursors are understood again.
func FuzzCursors(f *testing.F) {
	f.Add([]byte("e .\ne a 7 .\n- a .\ne b 12"))
	f.Add([]byte("\x00\x00\n .\n- .\ne .\ne a -1 .\ne  . .\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(t.TempDir(), "cursors")
		must.Succeed(t, os.WriteFile(path, b, 0o600))
		c, err := webhook.OpenFile(path)
		if err != nil {
			return
		}
		a := c.Get("e", "a")
		must.Succeed(t, c.Close())
		c = openFile(t, path)
		if got := c.Get("e", "a"); got != a || got < 0 {
			t.Errorf("%d becomes %d", a, got)
		}
		must.Succeed(t, c.Close())
	})
}
