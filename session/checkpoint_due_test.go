package session

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/state"
)

// TestCheckpointDue says at which event a checkpoint is due.
func TestCheckpointDue(t *testing.T) {
	t.Parallel()
	meta := func(id, parent string) event.Base { return event.Base{ID: event.ID(id), ParentID: event.ID(parent)} }
	message := func(id, parent string) event.Event { return &event.MessageEvent{Base: meta(id, parent)} }
	action := func(id, parent string) *event.ActionEvent { return &event.ActionEvent{Base: meta(id, parent)} }
	result := func(id, parent string) event.Event { return &event.ObservationEvent{Base: meta(id, parent)} }
	m1, a1, o1, a2 := message("m1", ""), action("a1", "m1"), result("o1", "a1"), action("a2", "o1")
	refusal := &event.UserRejectObservation{Base: meta("o1", "a1"), ActionID: "a1"}
	r1 := &event.ActionEvent{Base: meta("r1", "m1"), Action: &event.TerminalAction{Command: "ls"}}
	queued, a3 := message("m2", "o1"), action("a3", "m2")
	for name, c := range map[string]struct {
		view  []event.Event
		last  event.ID // message
		batch []*event.ActionEvent
		k     checkpointer
		times CheckpointTimes
		want  event.ID
		step  bool
	}{
		"a message":                       {view: []event.Event{m1}, last: "m1", times: CheckpointSteps, want: "m1"},
		"a message again":                 {view: []event.Event{m1, a1}, last: "m1", batch: []*event.ActionEvent{a1}, k: checkpointer{tried: "m1"}, times: CheckpointSteps},
		"the first actions":               {view: []event.Event{m1, a1}, last: "m1", batch: []*event.ActionEvent{a1}, times: CheckpointTurns, want: "m1"},
		"after reading":                   {view: []event.Event{m1, r1, o1, a2}, last: "m1", batch: []*event.ActionEvent{a2}, times: CheckpointTurns, want: "m1"},
		"after a refusal":                 {view: []event.Event{m1, a1, refusal, a2}, last: "m1", batch: []*event.ActionEvent{a2}, times: CheckpointTurns, want: "m1"},
		"after reading, when it is taken": {view: []event.Event{m1, r1, o1, a2}, last: "m1", batch: []*event.ActionEvent{a2}, k: checkpointer{tried: "x", turn: "m1"}, times: CheckpointTurns, step: true},
		"a step ahead":                    {view: []event.Event{m1, a1, o1}, last: "m1", k: checkpointer{tried: "m1"}, times: CheckpointSteps, want: "o1", step: true},
		"a step":                          {view: []event.Event{m1, a1, o1, a2}, last: "m1", batch: []*event.ActionEvent{a2}, k: checkpointer{tried: "m1"}, times: CheckpointSteps, want: "o1", step: true},
		"a step in an opened one":         {view: []event.Event{m1, a1, o1, a2}, last: "m1", batch: []*event.ActionEvent{a2}, times: CheckpointSteps, want: "o1", step: true},
		"a step that was taken ahead":     {view: []event.Event{m1, a1, o1, a2}, last: "m1", batch: []*event.ActionEvent{a2}, k: checkpointer{tried: "o1"}, times: CheckpointSteps, step: true},
		"a step, for each message":        {view: []event.Event{m1, a1, o1, a2}, last: "m1", batch: []*event.ActionEvent{a2}, k: checkpointer{tried: "m1"}, times: CheckpointTurns, step: true},
		"a step after much was stored":    {view: []event.Event{m1, a1, o1, a2}, last: "m1", batch: []*event.ActionEvent{a2}, k: checkpointer{tried: "m1", spent: maxStepBytes}, times: CheckpointSteps, step: true},
		"a message after much":            {view: []event.Event{m1, a1, o1, queued, a3}, last: "m2", batch: []*event.ActionEvent{a3}, k: checkpointer{tried: "o1", spent: maxStepBytes}, times: CheckpointSteps, want: "m2"},
		"without a message":               {view: []event.Event{a1}, batch: []*event.ActionEvent{action("a1", "p")}, times: CheckpointSteps, want: "p", step: true},
		"at the root, without a message":  {view: nil, batch: []*event.ActionEvent{action("a1", string(event.Root))}, times: CheckpointSteps, step: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &state.State{View: c.view, LastUserMessage: c.last}
			if len(c.view) > 0 {
				s.Head = c.view[len(c.view)-1].Meta().ID
			}
			if at, step := c.k.due(s, c.batch, c.times); c.want != at || at != "" && step != c.step {
				t.Errorf("%q, step %v", at, step)
			}
		})
	}
}

// TestWaitTells: who closes a conversation whose checkpoint takes long is told after a second
// for what it waits.
func TestWaitTells(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &Conversation{}
		var told []Waiting
		defer c.publish.hub.watch(func(tr Transient) { told = append(told, *tr.Waiting) })()
		k := newCheckpointer(c, nil)
		for _, took := range []time.Duration{time.Second / 2, 8 * time.Second} {
			if err := k.taking.Acquire(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			time.AfterFunc(took, func() { k.taking.Release(1) })
			if err := k.wait(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		want := []Waiting{{For: "the files to be kept for an undo"}, {Over: true}}
		if d := cmp.Diff(want, told); d != "" {
			t.Errorf("told (-want +got):\n%s", d)
		}
	})
}
