package webhook_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/server/agentserver/webhook"
)

func openFile(t testing.TB, path string) *webhook.File {
	t.Helper()
	c, err := webhook.OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCursors(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "cursors")
	c := openFile(t, path)
	if c.Known("e") {
		t.Error("knows an endpoint before it began")
	}
	if err := c.Begin("e", map[event.ConversationID]eventstream.Seq{"a": 7, "b": 8}); err != nil {
		t.Fatal(err)
	}
	for i := range 5000 {
		if err := c.Set("e", "a", eventstream.Seq(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Forget("b"); err != nil {
		t.Fatal(err)
	}
	if err := c.Set("e", "c", 3); err != nil {
		t.Fatal(err)
	}
	// As after kill -9: not closed, and the last line is torn.
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(raw), "\n"); n > 1100 {
		t.Errorf("%d lines for two cursors", n)
	}
	torn := filepath.Join(t.TempDir(), "torn")
	if err := os.WriteFile(torn, append(raw, "e c 12"...), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{path, torn} {
		again := openFile(t, p)
		if !again.Known("e") || again.Get("e", "a") != 4999 || again.Get("e", "b") != 0 || again.Get("e", "c") != 3 {
			t.Errorf("%s: a %d, b %d, c %d", p, again.Get("e", "a"), again.Get("e", "b"), again.Get("e", "c"))
		}
		if err := again.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// FuzzCursors opens any file; understood cursors are understood again.
func FuzzCursors(f *testing.F) {
	f.Add([]byte("e .\ne a 7 .\n- a .\ne b 12"))
	f.Add([]byte("\x00\x00\n .\n- .\ne .\ne a -1 .\ne  . .\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		path := filepath.Join(t.TempDir(), "cursors")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := webhook.OpenFile(path)
		if err != nil {
			return
		}
		a := c.Get("e", "a")
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		c = openFile(t, path)
		if got := c.Get("e", "a"); got != a || got < 0 {
			t.Errorf("%d becomes %d", a, got)
		}
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
