package session_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/session"
)

// TestArchiveUnused: conversations that have not changed for long work no more and can
// be read, also after a restart; all else stays unchanged.
func TestArchiveUnused(t *testing.T) {
	t.Parallel()
	h := setup(t, inTurn(says("done"), says("again")), nil)
	c := h.begin(t, "")
	send(t, c, "work")
	settle(t, c)
	archive := func(since time.Time, all bool) (n int) {
		t.Helper()
		n, err := h.ArchiveUnused(t.Context(), since, func(session.Placement) bool { return all })
		must.Succeed(t, err)
		return n
	}
	later := time.Now().Add(time.Hour)
	if n := archive(time.Now().Add(-time.Hour), true) + archive(later, false); n != 0 {
		t.Fatalf("%d conversations that are used or not meant were archived", n)
	}
	send(t, c, "once more")
	settle(t, c)
	if n := archive(later, true); n != 1 {
		t.Fatalf("%d conversations were archived", n)
	}
	if n := archive(later, true); n != 0 {
		t.Errorf("%d conversations were archived again", n)
	}
	for _, when := range []string{"now", "after a restart"} {
		if was, err := h.Archived(t.Context(), c.ID()); err != nil || !was {
			t.Errorf("%s: archived %v, %v", when, was, err)
		}
		got := h.get(t, c.ID())
		if err := got.Environment().Ready(t.Context()); !errors.Is(err, session.ErrArchived) || fault.KindOf(err) != fault.Gone {
			t.Errorf("%s: it works: %v", when, err)
		}
		raw, err := h.Summary(t.Context(), c.ID())
		if err != nil || !strings.Contains(string(raw), `"runtime_status":"missing","can_resume":false`) || !strings.Contains(string(raw), `"execution_status":"finished"`) {
			t.Errorf("%s: described as %s, %v", when, raw, err)
		}
		if text := h.stored(t, c.ID()); !strings.Contains(text, "again") {
			t.Errorf("%s: its history is %s", when, text)
		}
		h.restart(t)
	}
	if n := h.made(c.ID()); n != 1 {
		t.Errorf("resources were built %d times", n)
	}
}

// TestArchiveUnusedWhileRunning: a conversation that works is not archived.
func TestArchiveUnusedWhileRunning(t *testing.T) {
	t.Parallel()
	h := setup(t, inTurn(shell("block"), says("done")), nil)
	c := h.begin(t, "")
	send(t, c, "work")
	<-h.tools.started
	if n, err := h.ArchiveUnused(t.Context(), time.Now().Add(time.Hour), func(session.Placement) bool { return true }); err != nil || n != 0 {
		t.Errorf("%d were archived, %v", n, err)
	}
	must.Succeed(t, c.Interrupt(t.Context()))
	settle(t, c)
}
