package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/keyring"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/session/conversationlock"
)

// TestLease lets one of two managers on a store work on a conversation.
func TestLease(t *testing.T) {
	t.Parallel()
	h := setup(t, inTurn(shell("block"), says("done"), says("from the other")), nil)
	c := h.begin(t, "")
	send(t, c, "work")
	<-h.tools.started
	other := h.another(t)
	twin, err := other.Get(t.Context(), c.ID())
	must.Succeed(t, err)
	const owned = "Conversation is owned by another agent server instance; the write was refused"
	title := "mine"
	_, derr := other.Delete(t.Context(), c.ID())
	for what, err := range map[string]error{
		"a message": twin.Send(t.Context(), message("me too", true)),
		"a title":   twin.Patch(t.Context(), &title, nil),
		"tags":      twin.Patch(t.Context(), nil, &map[string]string{"a": "b"}),
		"deletion":  derr,
	} {
		if !fault.Is(err, fault.Conflict) || err.Error() != owned {
			t.Errorf("%s beside the owner: %v", what, err)
		}
	}
	for range 2 { // not loaded, and loaded
		raw, err := other.Summary(t.Context(), c.ID())
		if err != nil || field(t, raw, "execution_status") != "running" || field(t, raw, "id") != string(c.ID()) {
			t.Errorf("seen from beside the owner: %s, %v", raw, err)
		}
	}
	if p, err := other.List(t.Context(), eventstream.ListQuery{}); err != nil || len(p.Items) != 1 {
		t.Errorf("listed beside the owner: %d, %v", len(p.Items), err)
	}
	if n, err := other.Resume(t.Context()); n != 0 {
		t.Errorf("resumed %d conversations of another server: %v", n, err)
	}
	close(h.tools.release)
	settle(t, c)
	must.Succeed(t, h.Close(context.WithoutCancel(t.Context())))
	h.Manager = other
	send(t, twin, "now me")
	settle(t, twin)
	if got := lastRecord(t, h, twin); got != "agent: from the other" {
		t.Errorf("last is %q", got)
	}
}

// TestResume goes on after a server that ended in the middle of a command,
// which is not run again.
func TestResume(t *testing.T) {
	t.Parallel()
	h := setup(t, inTurn(shell("block"), says("I looked at it")), nil)
	c := h.begin(t, "")
	send(t, c, "work")
	<-h.tools.started
	h.restart(t)
	if got := status(t, h.get(t, c.ID())); got != "running" {
		t.Errorf("between the servers: %s", got)
	}
	n, err := h.Resume(t.Context())
	if n != 1 || err != nil {
		t.Fatalf("resumed %d: %v", n, err)
	}
	c = h.get(t, c.ID())
	settle(t, c)
	want := []string{"user: work", "running", "ActionEvent", "AgentErrorEvent", "agent: I looked at it", "finished"}
	if diff := cmp.Diff(want, h.kinds(t, c.ID())); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if len(h.tools.started) != 0 {
		t.Error("the command was run again")
	}
}

func TestEvictIdle(t *testing.T) {
	t.Parallel()
	h := setup(t, inTurn(says("one"), shell("block"), says("two")), func(o *session.Options) { o.IdleTTL = time.Hour })
	c := h.begin(t, "")
	send(t, c, "first")
	settle(t, c)
	before := describe(t, c)
	later := time.Now().Add(2 * time.Hour)
	h.EvictIdle(later)
	if again := h.get(t, c.ID()); again == c {
		t.Fatal("it was not evicted")
	}
	h.stream.reads.Store(0)
	c = h.get(t, c.ID())
	if diff := cmp.Diff(noTimes(before), noTimes(describe(t, c))); diff != "" {
		t.Errorf("described before and after (-before +after):\n%s", diff)
	}
	if n := h.stream.reads.Load(); n != 0 {
		t.Errorf("a look read events %d times", n)
	}
	send(t, c, "second")
	<-h.tools.started
	h.EvictIdle(later) // one that runs stays
	if h.get(t, c.ID()) != c {
		t.Error("a conversation that runs was evicted")
	}
	close(h.tools.release)
	settle(t, c)
	stop := c.Watch(func(session.Transient) {})
	h.EvictIdle(later) // and one that is watched
	if h.get(t, c.ID()) != c {
		t.Error("a conversation that is watched was evicted")
	}
	stop()
	if n := h.made(c.ID()); n != 2 {
		t.Errorf("resources were built %d times, want once each time it is loaded", n)
	}
}

// noTimes is a description without the time of its update.
func noTimes(d string) string {
	var all map[string]json.RawMessage
	if json.Unmarshal([]byte(d), &all) != nil {
		return d
	}
	delete(all, "updated_at")
	b, _ := json.Marshal(all) // came from JSON
	return string(b)
}

func TestDeleteRunning(t *testing.T) {
	t.Parallel()
	h := setup(t, inTurn(shell("block")), nil)
	c := h.begin(t, "")
	send(t, c, "work")
	<-h.tools.started
	send(t, c, "more") // must not keep it alive
	if _, err := h.Delete(t.Context(), c.ID()); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Get(t.Context(), c.ID()); !fault.Is(err, fault.NotFound) {
		t.Errorf("after the deletion: %v", err)
	}
	if _, err := h.Delete(t.Context(), c.ID()); !fault.Is(err, fault.NotFound) {
		t.Errorf("a second deletion: %v", err)
	}
	if err := c.Send(t.Context(), message("still there?", true)); err == nil {
		t.Error("a deleted conversation takes messages")
	}
	if n := h.Running(); n != 0 {
		t.Errorf("%d runs", n)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if last := h.changes[len(h.changes)-1]; last != "deleting" {
		t.Errorf("the last change is %s: %q", last, h.changes)
	}
}

// TestDeleteSealed deletes a conversation whose secrets were stored under a key that
// is lost: it cannot run, but it can go.
func TestDeleteSealed(t *testing.T) {
	t.Parallel()
	h := setup(t, inTurn(), nil)
	id := h.begin(t, `"secrets":{"TOKEN":{"kind":"StaticSecret","value":"a-secret"}}`).ID()
	h.o.Ring = keyring.New("another key")
	h.restart(t)
	if _, err := h.Get(t.Context(), id); !errors.Is(err, schema.ErrSealed) {
		t.Fatalf("loaded with another key: %v", err)
	}
	if _, err := h.Delete(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Get(t.Context(), id); !fault.Is(err, fault.NotFound) {
		t.Errorf("after the deletion: %v", err)
	}
}

// lockChecked is a stream that notes whether a conversation is locked while its
// events are deleted.
type lockChecked struct {
	eventstream.Stream
	locks *conversationlock.Locks
	held  bool
}

func (s *lockChecked) Delete(ctx context.Context, id event.ConversationID) (err error) {
	if s.held, err = s.locks.Held(id); err != nil {
		return err
	}
	return s.Stream.Delete(ctx, id)
}

// TestDeleteLocked deletes conversations, with and without a worker, under their
// lock: no other process can load one meanwhile.
func TestDeleteLocked(t *testing.T) {
	t.Parallel()
	for name, worked := range map[string]bool{"active": true, "at rest": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var s lockChecked
			h := setup(t, inTurn(says("hello")), func(o *session.Options) {
				s.Stream, o.Store = o.Store, &s
				var err error
				if s.locks, err = conversationlock.Open(o.Dir); err != nil {
					t.Fatal(err)
				}
			})
			c := h.begin(t, "")
			if worked {
				send(t, c, "hi")
				settle(t, c)
			}
			if _, err := h.Delete(t.Context(), c.ID()); err != nil {
				t.Fatal(err)
			}
			if !s.held {
				t.Error("the conversation was not locked while its events were deleted")
			}
			if held, err := s.locks.Held(c.ID()); err != nil || held {
				t.Errorf("locked after the deletion: %v, %v", held, err)
			}
			if err := s.locks.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestPublished checks watchers' records: in order, after the events that they are
// about, and at the end the state of rest, and no other.
func TestPublished(t *testing.T) {
	t.Parallel()
	h := setup(t, func(_ context.Context, r llm.Request) (*llm.Response, error) { return says("re: " + heard(r)), nil }, nil)
	c := h.begin(t, "")
	type told struct {
		after  int64
		status string
	}
	got := make(chan told, 1000)
	stop := c.Watch(func(tr session.Transient) {
		if !tr.FullState {
			return
		}
		var up struct {
			Value struct {
				Status string `json:"execution_status"`
			}
		}
		if err := json.Unmarshal(tr.Event, &up); err != nil {
			t.Error(err)
		}
		got <- told{int64(tr.After), up.Value.Status}
	})
	defer stop()
	var all []told
	for range 20 {
		send(t, c, "hi")
		settle(t, c)
		for { // the state of rest comes, whatever came before
			x := <-got
			all = append(all, x)
			if x.status == "finished" {
				break
			}
		}
	}
	// The last state comes once more for who came late. On a slow machine, repetitions of earlier
	// runs came before.
	stored := strings.TrimSpace(h.stored(t, c.ID()))
	last := told{int64(strings.Count(stored, "\n") + 1), "finished"}
	times := func() (n int) {
		for _, x := range all {
			if x == last {
				n++
			}
		}
		return n
	}
	for times() < 2 {
		all = append(all, <-got)
	}
	if !slices.IsSortedFunc(all, func(a, b told) int { return int(a.after - b.after) }) {
		t.Errorf("out of order: %+v", all)
	}
	statuses := map[int64]string{}
	seq := int64(0)
	now := "idle"
	for line := range strings.SplitSeq(stored, "\n") {
		seq++
		if field(t, []byte(line), "key") == "execution_status" {
			now = field(t, []byte(line), "value")
		}
		statuses[seq] = now
	}
	for _, x := range all {
		if statuses[x.after] != x.status {
			t.Errorf("after event %d the state is %s, told was %s", x.after, statuses[x.after], x.status)
		}
	}
}

// TestNeverStale starts the next run as soon as one has ended: once it is
// started, no watcher gets the earlier idle state.
func TestNeverStale(t *testing.T) {
	t.Parallel()
	h := setup(t, func(context.Context, llm.Request) (*llm.Response, error) { return says("done"), nil }, nil)
	c := h.begin(t, "")
	var begun atomic.Int64 // events when the current run began
	stop := c.Watch(func(tr session.Transient) {
		if least := begun.Load(); tr.FullState && int64(tr.After) < least {
			t.Errorf("event %d was published when the run of event %d had begun", tr.After, least)
		}
	})
	defer stop()
	for range 100 {
		info, err := h.stream.Info(t.Context(), c.ID())
		must.Succeed(t, err)
		send(t, c, "go")
		begun.Store(int64(info.Events) + 1)
		settle(t, c)
	}
}

// TestWatchOrder gives every watcher the same, in the same order.
func TestWatchOrder(t *testing.T) {
	t.Parallel()
	h := setup(t, inTurn(), nil)
	c := h.begin(t, "")
	var seen [3][]string
	for i := range seen {
		defer c.Watch(func(tr session.Transient) { seen[i] = append(seen[i], field(t, tr.Event, "id")) })()
	}
	for range 5 {
		must.Succeed(t, c.Confirmation().SetPolicy(t.Context(), json.RawMessage(`{"kind":"AlwaysConfirm"}`)))
		// A client may have begun a run by the time it is told of the change, and
		// takes a state at rest for its end.
		if len(seen[0]) > 0 {
			t.Fatal("a change was told as a state")
		}
	}
	for range 5 {
		c.PublishState()
	}
	if len(seen[0]) != 5 {
		t.Errorf("%d states for 5", len(seen[0]))
	}
	for i := range seen {
		if diff := cmp.Diff(seen[0], seen[i]); diff != "" {
			t.Errorf("watcher %d (-first +this):\n%s", i, diff)
		}
	}
}

// TestFork continues from the middle, and leaves its source alone.
func TestFork(t *testing.T) {
	t.Parallel()
	h := setup(t, func(_ context.Context, r llm.Request) (*llm.Response, error) { return says("re: " + heard(r)), nil }, nil)
	c := h.begin(t, "")
	send(t, c, "one")
	settle(t, c)
	var at event.ID
	for rec, err := range h.stream.Read(t.Context(), c.ID(), 1) {
		must.Succeed(t, err)
		if ev, _ := rec.Event(); ev != nil && ev.Kind() == "MessageEvent" {
			at = ev.Meta().ID
		}
	}
	send(t, c, "two")
	settle(t, c)
	f, err := c.Branches().Fork(t.Context(), session.ForkOptions{From: at, Title: "a fork"})
	must.Succeed(t, err)
	if _, err := c.Branches().Fork(t.Context(), session.ForkOptions{ID: f.ID()}); !fault.Is(err, fault.Conflict) {
		t.Errorf("a fork to a taken id: %v", err)
	}
	if _, err := c.Branches().Fork(t.Context(), session.ForkOptions{From: "nothing"}); !fault.Is(err, fault.NotFound) {
		t.Errorf("a fork from nothing: %v", err)
	}
	before := h.stored(t, c.ID())
	send(t, f, "three")
	settle(t, f)
	if got := lastRecord(t, h, f); got != "agent: re: three" {
		t.Errorf("last of the fork is %q", got)
	}
	said := strings.Join(h.kinds(t, f.ID()), "\n")
	if !strings.Contains(said, "user: one") || strings.Contains(said, "two") {
		t.Errorf("the fork holds %q", said)
	}
	if h.stored(t, c.ID()) != before {
		t.Error("the fork changed its source")
	}
	for _, want := range []string{`"title":"a fork"`, `"forked_from_conversation_id":"` + string(c.ID()) + `"`, `"forked_from_event_id":"` + string(at) + `"`} {
		if !strings.Contains(describe(t, f), want) {
			t.Errorf("no %s in %s", want, describe(t, f))
		}
	}
	// HEAD moves back, and later events hang there.
	must.Succeed(t, c.Branches().Navigate(t.Context(), at))
	if !strings.Contains(describe(t, c), `"leaf_event_id":"`+string(at)+`"`) {
		t.Error("HEAD did not move")
	}
	if err := c.Branches().Navigate(t.Context(), "nothing"); !fault.Is(err, fault.NotFound) {
		t.Errorf("a move to nothing: %v", err)
	}
}

// TestSwitch takes another model in the middle of a conversation, for good.
func TestSwitch(t *testing.T) {
	t.Parallel()
	h := setup(t, inTurn(says("from the first")), nil)
	h.models["openai/other"] = &model{name: "openai/other", answer: inTurn(says("from the other"), says("still the other"))}
	h.profiles["fast"] = `{"model":"openai/other","api_key":"key-of-the-other","usage_id":"fast"}`
	c := h.begin(t, "")
	send(t, c, "hi")
	settle(t, c)
	if name, err := c.SwitchProfile(t.Context(), "fast"); err != nil || name != "openai/other" {
		t.Fatalf("switched to %q: %v", name, err)
	}
	if _, err := c.SwitchProfile(t.Context(), "none"); !fault.Is(err, fault.NotFound) {
		t.Errorf("an unknown profile: %v", err)
	}
	send(t, c, "who?")
	settle(t, c)
	h.restart(t)
	c = h.get(t, c.ID())
	send(t, c, "and now?")
	settle(t, c)
	if got := lastRecord(t, h, c); got != "agent: still the other" {
		t.Errorf("last is %q", got)
	}
	if d := describe(t, c); !strings.Contains(d, "openai/other") || strings.Contains(d, "key-of-the-other") {
		t.Errorf("described as %s", d)
	}
	if strings.Contains(h.stored(t, c.ID()), "key-of-the-other") {
		t.Error("the key is in the events")
	}
}

// TestMendedModel takes the model as it is now, when the one before has ended a run; a model of
// the client's own stays.
func TestMendedModel(t *testing.T) {
	t.Parallel()
	for name, owners := range map[string]bool{"the owner's": true, "another": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refuses := func(context.Context, llm.Request) (*llm.Response, error) {
				return nil, llm.NewError(fault.Auth, "openai", "mock", "wrong key", nil)
			}
			h := setup(t, refuses, nil)
			h.models["openai/other"] = &model{name: "openai/other", answer: inTurn(says("from the mended one"))}
			request := h.request(t, "")
			request.OwnersModel = owners
			c, _, err := h.Create(t.Context(), request)
			must.Succeed(t, err)
			send(t, c, "hi")
			settle(t, c)
			if got := status(t, c); got != "error" {
				t.Fatalf("status %s: %q", got, h.kinds(t, c.ID()))
			}
			h.profiles["default"] = `{"model":"openai/other","api_key":"key-of-the-other"}`
			must.Succeed(t, c.Run(t.Context()))
			settle(t, c)
			if got := lastRecord(t, h, c); owners != (got == "agent: from the mended one") {
				t.Errorf("last is %q", got)
			}
		})
	}
}

func TestChild(t *testing.T) {
	t.Parallel()
	h := setup(t, inTurn(says("I did my part")), nil)
	c := h.begin(t, `"tags":{"team":"a"}`)
	child, err := c.Delegation().Start(t.Context(), session.ChildOptions{Task: "a part", Title: "the part"})
	must.Succeed(t, err)
	settle(t, child)
	if got := lastRecord(t, h, child); got != "agent: I did my part" {
		t.Errorf("last is %q", got)
	}
	if !strings.Contains(describe(t, c), `"sub_conversation_ids":["`+string(child.ID())+`"]`) {
		t.Errorf("the parent does not know its child: %s", describe(t, c))
	}
	for _, want := range []string{`"parent_conversation_id":"` + string(c.ID()) + `"`, `"title":"the part"`, `"tags":{"team":"a"}`} {
		if !strings.Contains(describe(t, child), want) {
			t.Errorf("no %s in the child", want)
		}
	}
	if n := len(h.kinds(t, c.ID())); n != 0 {
		t.Errorf("the parent has %d events", n)
	}
}

// recordedWorktrees records the worktrees that are added and removed.
type recordedWorktrees struct {
	session.PlainDirectories
	added   *string
	removed *[]string
}

func (r recordedWorktrees) AddWorktree(_ context.Context, dir string, id event.ConversationID, _ *session.WorktreeOptions) (string, string, error) {
	*r.added = dir + "/" + id.Hex()
	return *r.added, *r.added + "/sub", os.MkdirAll(*r.added+"/sub", 0o700)
}

func (r recordedWorktrees) RemoveWorktree(_ context.Context, root string) error {
	*r.removed = append(*r.removed, root)
	return nil
}

// TestWorktreeShared removes a worktree with the last that works in it.
func TestWorktreeShared(t *testing.T) {
	t.Parallel()
	var root string
	var dropped []string
	h := setup(t, inTurn(says("hello"), says("done")), func(o *session.Options) {
		o.Files = recordedWorktrees{added: &root, removed: &dropped}
	})
	c := h.begin(t, `"worktree":true`)
	send(t, c, "hi")
	settle(t, c)
	f, err := c.Branches().Fork(t.Context(), session.ForkOptions{})
	must.Succeed(t, err)
	child, err := c.Delegation().Start(t.Context(), session.ChildOptions{Task: "a part"})
	must.Succeed(t, err)
	settle(t, child)
	h.restart(t) // nobody is loaded
	for _, id := range []event.ConversationID{child.ID(), c.ID(), f.ID()} {
		if len(dropped) > 0 {
			t.Errorf("the worktree is gone before %s", id)
		}
		if _, err := h.Delete(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{root}, dropped); diff != "" {
		t.Errorf("dropped (-want +got):\n%s", diff)
	}
}
