package session_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/session"
)

// observerFuncs implements [session.Observer].
type observerFuncs struct{ changed, published func(json.RawMessage) }

func (f observerFuncs) Changed(_ event.ConversationID, info json.RawMessage)    { f.changed(info) }
func (f observerFuncs) Published(_ event.ConversationID, state json.RawMessage) { f.published(state) }
func (f observerFuncs) Flush(context.Context, event.ConversationID) error       { return nil }

// TestObserver lists an observer's records of a conversation: descriptions when it
// begins, is stopped, edited or deleted, and states as watchers are.
func TestObserver(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	more := sync.NewCond(&mu)
	var told []string
	var last json.RawMessage
	h := setup(t, inTurn(says("done")), func(o *session.Options) {
		o.Observer = observerFuncs{func(info json.RawMessage) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, "info "+field(t, info, "execution_status")+" "+field(t, info, "title"))
			last = info
			more.Broadcast()
		}, func(raw json.RawMessage) {
			var up struct{ Value json.RawMessage }
			if err := json.Unmarshal(raw, &up); err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			told = append(told, "state "+field(t, up.Value, "execution_status"))
			more.Broadcast()
		}}
	})
	expect := func(what string, want ...string) {
		t.Helper()
		mu.Lock()
		defer mu.Unlock()
		for len(told) < len(want) { // a run has ended a moment before that is published
			more.Wait()
		}
		if diff := cmp.Diff(want, told); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
		told = nil
	}
	c := h.begin(t, `"tags":{"a":"b"}`)
	expect("begun", "state idle", "info idle ")
	send(t, c, "go")
	settle(t, c)
	expect("run", "state finished")
	title, tags := "a title", map[string]string{"x": "y"}
	must.Succeed(t, c.Patch(t.Context(), &title, nil))
	expect("renamed", "info finished a title")
	must.Succeed(t, c.Patch(t.Context(), &title, &tags))
	expect("renamed and tagged", "info finished a title")
	must.Succeed(t, c.Pause(t.Context()))
	expect("paused", "info finished a title")
	h.restart(t) // at rest
	title = "another"
	must.Succeed(t, h.get(t, c.ID()).Patch(t.Context(), &title, nil))
	expect("renamed at rest", "info finished another")
	if _, err := h.Delete(t.Context(), c.ID()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"leaf_event_id":"`, `"x":"y"`, `"last_user_message_id":"`} {
		if !strings.Contains(string(last), want) {
			t.Errorf("the description of what is deleted has no %s: %s", want, last)
		}
	}
	expect("deleted", "info deleting another")
}

// TestInterruptOfNothing pauses, as in the reference.
func TestInterruptOfNothing(t *testing.T) {
	t.Parallel()
	h := setup(t, inTurn(), nil)
	c := h.begin(t, "")
	must.Succeed(t, c.Interrupt(t.Context()))
	if diff := cmp.Diff([]string{"PauseEvent", "paused"}, h.kinds(t, c.ID())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
