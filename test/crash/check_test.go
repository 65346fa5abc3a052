package crash_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/eventstream/openhands"
	"github.com/deft-dev/deft/eventstream/sqlite"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/state"
)

// history is the stored conversation; the state is folded event by event while
// reading.
type history struct {
	id     event.ConversationID // empty: there is no conversation yet
	events []event.Event
	state  *state.State
	export []event.Event // the same, through an export
}

// hasTask reports whether the user's task is stored.
func (h *history) hasTask() bool { return h.state != nil && h.state.LastUserMessage != "" }

// history reads the store, which no deft may have open for writing.
func (b *bench) history() *history {
	b.t.Helper()
	h := &history{}
	if _, err := os.Stat(filepath.Join(b.data, "events")); err != nil {
		return h
	}
	s, err := sqlite.Open(context.Background(), filepath.Join(b.data, "events"), sqlite.Options{})
	must.Succeed(b.t, err)
	defer s.Close()
	page, err := s.List(context.Background(), eventstream.ListQuery{})
	must.Succeed(b.t, err)
	if len(page.Infos) == 0 {
		return h
	}
	if len(page.Infos) > 1 {
		b.t.Errorf("there are %d conversations", len(page.Infos))
	}
	h.id = page.Infos[0].ID
	if err := h.read(s); err != nil {
		b.t.Fatalf("%s: %v", b.dir, err)
	}
	return h
}

func (h *history) read(s eventstream.Stream) error {
	fold, next, ids := newFold(&h.events), eventstream.Seq(1), map[event.ID]bool{}
	for rec, err := range s.Read(context.Background(), h.id, 1) {
		if err != nil {
			return err
		}
		ev, err := rec.Event()
		if err != nil {
			return err
		}
		id := ev.Meta().ID
		if rec.Seq != next || ids[id] {
			return fmt.Errorf("event %d (%s) is in the position of %d", rec.Seq, id, next)
		}
		if p := ev.Meta().ParentID; p != "" && p != event.Root && !ids[p] {
			return fmt.Errorf("event %d has the parent %s, which does not come before it", rec.Seq, p)
		}
		next, ids[id] = next+1, true
		h.events = append(h.events, ev)
		if err := fold.Apply(int64(rec.Seq), ev); err != nil {
			return err
		}
		h.state = fold.State()
	}
	var buf bytes.Buffer
	if err := openhands.ExportTrajectory(context.Background(), s, h.id, &buf); err != nil {
		return err
	}
	var err error
	h.export, err = openhands.ReadTrajectory(&buf)
	return err
}

func newFold(events *[]event.Event) *state.Fold {
	return state.NewFold(func(seq int64) (event.Event, error) { return (*events)[seq-1], nil })
}

// findings are the results of one task.
type findings struct {
	actions     int // that were asked for
	interrupted int // whose answer says that the effect is unknown
	missing     int // of those, without an effect
}

// inspect checks the result of a finished task, and reports each violation.
func (b *bench) inspect() (v findings) {
	b.t.Helper()
	h := b.history()
	if h.state == nil || h.state.Status != state.Finished || len(h.state.Pending) > 0 {
		b.t.Errorf("%s: the conversation is not finished", b.dir)
		return v
	}
	whole := newFold(&h.export)
	for i, ev := range h.export {
		if err := whole.Apply(int64(i+1), ev); err != nil {
			b.t.Errorf("%s: fold the export: %v", b.dir, err)
		}
	}
	if diff := cmp.Diff(h.state, whole.State()); diff != "" {
		b.t.Errorf("%s: the export folds to another state (-stream +export):\n%s", b.dir, diff)
	}
	lines, seen := b.lines(), map[int]bool{}
	for _, a := range actionsOf(h.events) {
		n := numberOf(a.args)
		v.actions++
		switch {
		case len(a.answers) != 1:
			b.t.Errorf("%s: action %s has %d answers: %q", b.dir, a.id, len(a.answers), a.answers)
		case a.interrupted:
			v.interrupted++
		case n > 0 && !strings.Contains(a.answers[0], shownBy(n)):
			b.t.Errorf("%s: action %d got the answer %q", b.dir, n, a.answers[0])
		}
		if n == 0 {
			continue
		}
		if seen[n] {
			b.t.Errorf("%s: action %d was asked for twice", b.dir, n)
		}
		seen[n] = true
		if lines[n] == 0 && a.interrupted {
			v.missing++
		} else if lines[n] != 1 {
			b.t.Errorf("%s: line %d was written %d times; its answer: %q", b.dir, n, lines[n], a.answers)
		}
	}
	if len(seen) != b.effects {
		b.t.Errorf("%s: %d of %d actions were asked for", b.dir, len(seen), b.effects)
	}
	return v
}

// lines returns how often each effect occurred.
func (b *bench) lines() map[int]int {
	b.t.Helper()
	count := map[int]int{}
	for _, name := range []string{"out.txt", "edit0.txt", "edit1.txt"} {
		raw, err := os.ReadFile(filepath.Join(b.ws, name))
		must.Succeed(b.t, err)
		for l := range strings.Lines(string(raw)) {
			n := numberOf(l)
			if l != fmt.Sprintf("line-%d\n", n) {
				b.t.Errorf("%s: %s holds %q", b.dir, name, l)
			}
			count[n]++
		}
	}
	return count
}

// askedAction is an action with its answers.
type askedAction struct {
	id          event.ID
	call        string
	args        string
	answers     []string
	interrupted bool
}

func actionsOf(events []event.Event) []*askedAction {
	var all []*askedAction
	answer := func(match func(*askedAction) bool, text string) *askedAction {
		for _, a := range all {
			if match(a) {
				a.answers = append(a.answers, text)
				return a
			}
		}
		return &askedAction{}
	}
	for _, ev := range events {
		switch e := ev.(type) {
		case *event.ActionEvent:
			args, _ := json.Marshal(e.Action) // a decoded event encodes
			all = append(all, &askedAction{id: e.ID, call: e.ToolCallID, args: string(args)})
		case *event.ObservationEvent:
			answer(func(a *askedAction) bool { return a.id == e.ActionID }, event.JoinText(e.Observation.Result().Content))
		case *event.UserRejectObservation:
			answer(func(a *askedAction) bool { return a.id == e.ActionID }, "rejected: "+e.RejectionReason)
		case *event.AgentErrorEvent:
			a := answer(func(a *askedAction) bool { return a.call == e.ToolCallID }, e.Error)
			// The second is where it is known that the sandbox has ended.
			a.interrupted = strings.Contains(e.Error, "cut off by a crash") || strings.Contains(e.Error, "sandbox ended while this call ran")
		}
	}
	return all
}
