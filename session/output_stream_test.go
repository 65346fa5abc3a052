package session_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/deft-dev/deft/session"
)

// TestOutputAcrossPieces prints a secret a few characters at a time: watchers see
// none of it, and everything else, also text that looked like its beginning.
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

// TestWatchOutputLate watches an action that has printed already: its output so far
// comes first, and the rest once. An action that has ended is not shown.
func TestWatchOutputLate(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, printed string
		cut           bool
	}{
		{"short", "\x1b[31mred\x1b[0m and hun", false},
		{"long", strings.Repeat("a line\n", 40_000) + "hun", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := setup(t, inTurn(shell("trickle"), shell("print and block"), finished("ok")), nil)
			h.tools.hidden = tt.printed
			c := h.begin(t, `"secrets":{"TOKEN":{"kind":"StaticSecret","value":"hunter2-hunter2"}}`)
			send(t, c, "go")
			<-h.tools.started
			var mu sync.Mutex
			var shown []session.Output
			defer c.WatchOutput(func(o session.Output) {
				mu.Lock()
				defer mu.Unlock()
				shown = append(shown, o)
			})()
			h.tools.release <- struct{}{}
			settle(t, c)
			mu.Lock()
			defer mu.Unlock()
			if len(shown) != 2 || shown[0].Action != shown[1].Action || shown[1].Text != "hun" {
				t.Fatalf("%d pieces came, want two of one action", len(shown))
			}
			first := shown[0]
			if first.Cut != tt.cut || !strings.HasSuffix(tt.printed, first.Text+"hun") {
				t.Errorf("cut is %v; %d of %d bytes", first.Cut, len(first.Text), len(tt.printed))
			}
			if tt.cut && (!strings.HasPrefix(first.Text, "a line\n") || len(first.Text) < 60<<10 || len(first.Text) > 128<<10) {
				t.Errorf("it begins with %.20q and has %d bytes", first.Text, len(first.Text))
			}
		})
	}
}

// TestOutputOfAToolThatFails ends like any other: held-back text comes, and nothing
// is kept.
func TestOutputOfAToolThatFails(t *testing.T) {
	t.Parallel()
	h := setup(t, inTurn(shell("print and fail"), finished("ok")), nil)
	h.tools.hidden = "it is hun"
	c := h.begin(t, `"secrets":{"TOKEN":{"kind":"StaticSecret","value":"hunter2-hunter2"}}`)
	var mu sync.Mutex
	var shown string
	defer c.WatchOutput(func(o session.Output) {
		mu.Lock()
		defer mu.Unlock()
		shown += o.Text
	})()
	send(t, c, "go")
	settle(t, c)
	mu.Lock()
	defer mu.Unlock()
	if shown != "it is hun" {
		t.Errorf("watchers saw %q", shown)
	}
	c.WatchOutput(func(o session.Output) { t.Errorf("%q is kept", o.Text) })()
}
