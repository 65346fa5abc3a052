package runcommand

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/controller"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/session"
)

// TestPiecesComeAfterTheirEvents shows an answer that the model begins before the
// question has come from the store.
func TestPiecesComeAfterTheirEvents(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	v := NewView(ViewOptions{Out: io.Discard, Err: &out})
	raw, err := event.Marshal(event.NewUserMessage("question"))
	must.Succeed(t, err)
	v.transient(session.Transient{After: 1, Piece: &session.Piece{Item: "a", Kind: "text", Content: "ans"}})
	v.record(eventstream.Record{Seq: 1, Kind: "MessageEvent", JSON: raw})
	v.transient(session.Transient{After: 1, Piece: &session.Piece{Item: "a", Kind: "text", Content: "wer"}})
	if diff := cmp.Diff("> question\nanswer", out.String()); diff != "" {
		t.Error(diff)
	}
}

// TestSlow says after a second why nothing happens, and nothing before.
func TestSlow(t *testing.T) {
	t.Parallel()
	for took, want := range map[time.Duration]string{900 * time.Millisecond: "", 8 * time.Second: "… waiting for the list\n"} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			v := NewView(ViewOptions{Out: &out, Err: &out})
			over := v.slow("the list")
			time.Sleep(took)
			over()
			if out.String() != want {
				t.Errorf("after %s: %q", took, out.String())
			}
		})
	}
}

// TestWaitingForFiles says why nothing happens: in a line, or on the status line of a terminal.
func TestWaitingForFiles(t *testing.T) {
	t.Parallel()
	for _, tty := range []bool{false, true} {
		var out bytes.Buffer
		v := NewView(ViewOptions{Out: &out, Err: &out, OutTTY: tty, ErrTTY: tty, Status: true})
		v.transient(session.Transient{Waiting: &session.Waiting{For: "the files"}})
		v.transient(session.Transient{Waiting: &session.Waiting{Over: true}})
		want := "… waiting for the files\n"
		if tty {
			want = "waiting for the files…\r\x1b[K"
		}
		if out.String() != want {
			t.Errorf("tty %v: %q, want %q", tty, out.String(), want)
		}
	}
}

// TestRetried says what went wrong with a call and how it is made again.
func TestRetried(t *testing.T) {
	t.Parallel()
	busy := errors.New("busy")
	for want, r := range map[string]controller.Retry{
		"… the model did not answer (busy); trying again in 3s\n":           {Wait: 3},
		"… a did not answer (busy); asking b\n":                             {Model: "a", Next: "b"},
		"… the model refused the request (busy); asking again without it\n": {Change: "without it"},
	} {
		var out bytes.Buffer
		NewView(ViewOptions{Out: io.Discard, Err: &out}).retried(r, busy)
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Error(diff)
		}
	}
}

// TestStatusFitsTheTerminal keeps the status line in one row: a longer one could not be erased.
func TestStatusFitsTheTerminal(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"thinking…":              "thinking…",
		"123456789":              "123456789",
		"1234567890":             "12345678…",
		"日本語パッケージ":               "日本語パ…",
		"e\u0301e\u0301 1234567": "e\u0301e\u0301 12345…",
		"⠋ Installing":           "⠋ Instal…",
	} {
		var out bytes.Buffer
		s := &screen{out: &out, status: true, width: func() int { return 10 }}
		if s.show(text); out.String() != want {
			t.Errorf("%q: %q, want %q", text, out.String(), want)
		}
	}
}

// TestRetryText says of a recorded call how it was made again.
func TestRetryText(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		`{"model":"a","detail":"busy","wait_seconds":3}`:               "a did not answer (busy); tried again after 3 s",
		`{"model":"a","next_model":"b","detail":"busy"}`:               "a did not answer (busy); asked b",
		`{"model":"a","detail":"no pictures","change":"without them"}`: "a refused the request (no pictures); asked again without them",
	} {
		if got := RetryText([]byte(value)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
