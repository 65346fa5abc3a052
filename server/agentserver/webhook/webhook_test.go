package webhook_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/server/agentserver/config"
	"github.com/deft-dev/deft/server/agentserver/webhook"
)

func TestBatches(t *testing.T) {
	t.Parallel()
	h, sink := newServer(t), newSink(t)
	s := h.start(sink.spec(func(s *config.Webhook) {
		s.EventBufferSize, s.FlushDelay = 3, 3600
		s.Headers = map[string]llm.Secret{"Authorization": "Bearer x"}
	}))
	id := h.conversation()
	h.add(s.Stream(), id, 1, 2)
	h.add(s.Stream(), id, 3, 3) // fills the batch
	p := <-sink.got
	if join(p.texts) != "1 2 3" || p.path != "/hook/events/"+id.Hex() {
		t.Errorf("got %v at %s", p.texts, p.path)
	}
	for k, want := range map[string]string{"Authorization": "Bearer x", "X-Session-Api-Key": "the key", "Content-Type": "application/json"} {
		if got := p.header.Get(k); got != want {
			t.Errorf("%s is %q", k, got)
		}
	}
	h.add(s.Stream(), id, 4, 4)
	must.Succeed(t, s.Flush(t.Context(), id))
	if p := <-sink.got; join(p.texts) != "4" {
		t.Errorf("got %v", p.texts)
	}
	h.add(s.Stream(), id, 5, 5)
	h.stop(s, false) // flushes too
	if p := <-sink.got; join(p.texts) != "5" {
		t.Errorf("got %v", p.texts)
	}
}

// TestOneAddressTwice keeps two endpoints apart that differ in their headers.
func TestOneAddressTwice(t *testing.T) {
	t.Parallel()
	h, sink := newServer(t), newSink(t)
	as := func(who string) config.Webhook {
		return sink.spec(func(s *config.Webhook) { s.Headers = map[string]llm.Secret{"X-Who": llm.Secret(who)} })
	}
	s := h.start(as("a"), as("b"))
	id := h.conversation()
	h.add(s.Stream(), id, 1, 3)
	h.stop(s, false)
	got := map[string][]string{}
	for len(got["a"])+len(got["b"]) < 6 {
		p := <-sink.got
		got[p.header.Get("X-Who")] = append(got[p.header.Get("X-Who")], p.texts...)
	}
	if join(got["a"]) != "1 2 3" || join(got["b"]) != "1 2 3" {
		t.Errorf("got %v", got)
	}
}

// TestForm holds that events are as the reference posts them: with nulls.
func TestForm(t *testing.T) {
	t.Parallel()
	h, sink := newServer(t), newSink(t)
	s := h.start(sink.spec())
	defer h.stop(s, true)
	id := h.conversation()
	h.add(s.Stream(), id, 1, 1)
	p := <-sink.got
	for _, want := range []string{`"parent_id":null`, `"sender":null`, `"tool_calls":null`, `"critic_result":null`} {
		if !strings.Contains(string(p.raw), want) {
			t.Errorf("no %s in %s", want, p.raw)
		}
	}
}

// reported is an action that OpenHands' servers do not know.
type reported struct{ event.ActionBase }

func (*reported) Kind() string { return "WebhookTestAction" }

func init() { event.RegisterAction[reported]() }

// TestOwnKinds holds that the receiver can read every event.
func TestOwnKinds(t *testing.T) {
	t.Parallel()
	h, sink := newServer(t), newSink(t)
	s := h.start(sink.spec())
	defer h.stop(s, true)
	id := h.conversation()
	_, err := s.Stream().Append(t.Context(), id, &event.ActionEvent{Base: event.NewBase(event.SourceAgent), ToolName: "own", Action: &reported{}})
	must.Succeed(t, err)
	if p := <-sink.got; !strings.Contains(string(p.raw), `"action":{"data":{},"kind":"MCPToolAction"}`) {
		t.Errorf("got %s", p.raw)
	}
}

// state is a state update that is not stored, named by a text.
func state(text string) json.RawMessage {
	return json.RawMessage(`{"llm_message":{"content":[{"text":"` + text + `"}]},"key":"full_state","value":{},"kind":"ConversationStateUpdateEvent"}`)
}

// TestStates posts states behind the events, and of those that an endpoint did
// not take the newest.
func TestStates(t *testing.T) {
	t.Parallel()
	h, sink := newServer(t), newSink(t)
	s := h.start(sink.spec(func(s *config.Webhook) { s.FlushDelay = 3600; s.EventBufferSize = 100 }))
	id := h.conversation()
	flush := func(want string) {
		t.Helper()
		must.Succeed(t, s.Flush(t.Context(), id))
		if p := <-sink.got; join(p.texts) != want || p.path != "/hook/events/"+id.Hex() {
			t.Errorf("got %v at %s, want %s", p.texts, p.path, want)
		}
	}
	s.Show(id, state("first"))
	flush("first")
	s.Show(id, state("old"))
	h.add(s.Stream(), id, 1, 1)
	s.Show(id, state("new"))
	flush("1 new")
	var mu sync.Mutex
	refused := 0
	sink.decide(func(post) int {
		mu.Lock()
		defer mu.Unlock()
		if refused++; refused == 1 {
			return http.StatusBadGateway
		}
		return http.StatusOK
	})
	s.Show(id, state("again"))
	flush("again")
	s.Show(id, state("last"))
	h.stop(s, false) // delivers it
	if p := <-sink.got; join(p.texts) != "last" {
		t.Errorf("got %v at the end", p.texts)
	}
}

// TestStatesAreBounded skips a state that exceeds the bound.
func TestStatesAreBounded(t *testing.T) {
	t.Parallel()
	h, sink := newServer(t), newSink(t)
	s := h.start(sink.spec(func(s *config.Webhook) { s.FlushDelay, s.MaxQueueBytes = 3600, len(state("one"))+10 }))
	one, two := h.conversation(), h.conversation()
	s.Show(one, state("one"))
	s.Show(two, state("two"))
	s.Show(one, state("1"))
	for range 2 {
		for _, id := range []event.ConversationID{one, two} {
			must.Succeed(t, s.Flush(t.Context(), id))
		}
		s.Show(two, state("2")) // it fits again
	}
	h.stop(s, false)
	var got []string
	for len(sink.got) > 0 {
		got = append(got, (<-sink.got).texts...)
	}
	if join(got) != "1 2 2" {
		t.Errorf("got %v", got)
	}
}

func TestFlushDelay(t *testing.T) {
	t.Parallel()
	h, sink := newServer(t), newSink(t)
	s := h.start(sink.spec())
	defer h.stop(s, true)
	id := h.conversation()
	h.add(s.Stream(), id, 1, 2)
	if diff := cmp.Diff(numbers(1, 2), sink.events(2)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestBatchBytes(t *testing.T) {
	t.Parallel()
	h, sink := newServer(t), newSink(t)
	s := h.start(sink.spec(func(s *config.Webhook) { s.MaxBatchBytes, s.EventBufferSize, s.FlushDelay = 2000, 100, 3600 }))
	defer h.stop(s, true)
	id := h.conversation()
	long := strings.Repeat("x", 3000)
	for _, text := range []string{"a", "b", long, "c"} {
		if _, err := s.Stream().Append(t.Context(), id, event.NewUserMessage(text)); err != nil {
			t.Fatal(err)
		}
	}
	must.Succeed(t, s.Flush(t.Context(), id))
	for _, want := range []string{"a b", long, "c"} {
		p := <-sink.got
		if join(p.texts) != want || want != long && len(p.raw) > 2000 {
			t.Errorf("got %.50v in %d bytes, want %.50q", p.texts, len(p.raw), want)
		}
	}
}

// TestRestart ends services in the middle, at any point, and starts them
// again.
func TestRestart(t *testing.T) {
	t.Parallel()
	const events, lives = 200, 10
	h, sink := newServer(t), newSink(t)
	first := h.start(sink.spec())
	h.stop(first, true) // the endpoint is known from here on
	id := h.conversation()
	var all []string
	for life := range lives {
		s := h.start(sink.spec())
		h.add(s.Stream(), id, life*events/lives+1, (life+1)*events/lives)
		if life%2 == 0 {
			all = append(all, (<-sink.got).texts...)
		}
		h.stop(s, true)
	}
	s := h.start(sink.spec())
	defer h.stop(s, true)
	for len(once(t, all)) < events {
		all = append(all, (<-sink.got).texts...)
	}
	if diff := cmp.Diff(numbers(1, events), once(t, all)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestDescribed: an endpoint gets the description of a conversation before its
// remaining events, though the server is asked too early at first.
func TestDescribed(t *testing.T) {
	t.Parallel()
	h, sink := newServer(t), newSink(t)
	h.stop(h.start(sink.spec()), true)
	id := h.conversation()
	h.add(h.store, id, 1, 2) // as if it was appended and not delivered
	cursors, err := webhook.OpenFile(h.path)
	must.Succeed(t, err)
	asked := 0
	s, err := webhook.New(webhook.Options{
		Endpoints: []config.Webhook{sink.spec()}, Stream: h.store, Cursors: cursors,
		Describe: func(_ context.Context, got event.ConversationID) (json.RawMessage, error) {
			if asked++; asked == 1 {
				return nil, fault.New(fault.Unavailable, "not ready")
			}
			return json.RawMessage(`{"id":"` + string(got) + `"}`), nil
		},
	})
	must.Succeed(t, err)
	defer h.stop(s, true)
	if p := <-sink.got; p.path != "/hook/conversations" || !strings.Contains(string(p.raw), string(id)) {
		t.Errorf("got %s at %s", p.raw, p.path)
	}
	if p := <-sink.got; join(p.texts) != "1 2" {
		t.Errorf("got %s", p.raw)
	}
}

// TestFailures lets an endpoint refuse many times; nothing is lost or changes
// its place, and other conversations go on.
func TestFailures(t *testing.T) {
	t.Parallel()
	h, sink := newServer(t), newSink(t)
	s := h.start(sink.spec())
	defer h.stop(s, true)
	bad, good := h.conversation(), h.conversation()
	left := 7
	sink.decide(func(p post) int {
		if p.path == "/hook/events/"+bad.Hex() && left > 0 {
			sink.mu.Lock()
			defer sink.mu.Unlock()
			left--
			return []int{http.StatusInternalServerError, http.StatusFound, http.StatusTooManyRequests}[left%3]
		}
		return http.StatusNoContent
	})
	h.add(s.Stream(), bad, 1, 20)
	h.add(s.Stream(), good, 101, 110)
	got := map[string][]string{}
	for len(got[bad.Hex()]) < 20 || len(got[good.Hex()]) < 10 {
		p := <-sink.got
		id := strings.TrimPrefix(p.path, "/hook/events/")
		got[id] = append(got[id], p.texts...)
	}
	want := map[string][]string{bad.Hex(): numbers(1, 20), good.Hex(): numbers(101, 110)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestStuckEndpoint holds that an endpoint which never answers delays neither
// appends nor another endpoint, and that the service can end.
func TestStuckEndpoint(t *testing.T) {
	t.Parallel()
	h, stuck, sink := newServer(t), newSink(t), newSink(t)
	release := make(chan struct{})
	stuck.decide(func(post) int {
		<-release
		return http.StatusOK
	})
	s := h.start(stuck.spec(), sink.spec())
	id := h.conversation()
	h.add(s.Stream(), id, 1, 30)
	if diff := cmp.Diff(numbers(1, 30), sink.events(30)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	h.stop(s, true)
	close(release)
}

func TestTell(t *testing.T) {
	t.Parallel()
	h, sink := newServer(t), newSink(t)
	s := h.start(sink.spec(func(s *config.Webhook) { s.FlushDelay, s.NumRetries = 3600, 2 }))
	defer h.stop(s, true)
	id := h.conversation()
	h.add(s.Stream(), id, 1, 1)
	for i := range 3 {
		s.Tell(id, json.RawMessage(fmt.Sprintf(`{"n":%d}`, i)))
	}
	must.Succeed(t, s.Flush(t.Context(), id))
	for i := range 3 {
		if p := <-sink.got; p.path != "/hook/conversations" || string(p.raw) != fmt.Sprintf(`{"n":%d}`, i) {
			t.Errorf("got %s at %s", p.raw, p.path)
		}
	}
	if p := <-sink.got; join(p.texts) != "1" {
		t.Errorf("got %s", p.raw)
	}
	// A state that is not taken does not keep events back for ever.
	tries := 0
	sink.decide(func(p post) int {
		if p.path == "/hook/conversations" {
			tries++
			return http.StatusNotFound
		}
		return http.StatusOK
	})
	s.Tell(id, json.RawMessage(`{}`))
	h.add(s.Stream(), id, 2, 2)
	must.Succeed(t, s.Flush(t.Context(), id))
	if p := <-sink.got; join(p.texts) != "2" || tries != 3 {
		t.Errorf("got %s after %d tries", p.raw, tries)
	}
}

// TestPast: a new endpoint gets neither earlier events, nor the shared part of a
// fork.
func TestPast(t *testing.T) {
	t.Parallel()
	h, sink := newServer(t), newSink(t)
	id := h.conversation()
	h.add(h.store, id, 1, 9)
	s := h.start(sink.spec())
	defer h.stop(s, true)
	h.add(s.Stream(), id, 10, 11)
	if diff := cmp.Diff(numbers(10, 11), sink.events(2)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	fork := event.NewConversationID()
	must.Succeed(t, s.Stream().Fork(t.Context(), fork, id, []eventstream.Segment{{First: 1, Last: 3}, {First: 5, Last: 6}}, eventstream.Meta{}))
	h.add(s.Stream(), fork, 12, 13)
	if diff := cmp.Diff(numbers(12, 13), sink.events(2)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// unread is a stream of which one event cannot be read.
type unread struct {
	eventstream.Stream
	bad eventstream.Seq
}

func (u unread) Read(ctx context.Context, id event.ConversationID, from eventstream.Seq) iter.Seq2[eventstream.Record, error] {
	return func(yield func(eventstream.Record, error) bool) {
		for r, err := range u.Stream.Read(ctx, id, from) {
			if r.Seq == u.bad {
				yield(eventstream.Record{}, fault.New(fault.Corrupt, "damaged"))
				return
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// TestDamage: an event which cannot be read does not hold up the events behind it.
func TestDamage(t *testing.T) {
	t.Parallel()
	h, sink := newServer(t), newSink(t)
	h.store = unread{h.store, 4}
	s := h.start(sink.spec(func(s *config.Webhook) { s.FlushDelay = 3600 }))
	id := h.conversation()
	h.add(s.Stream(), id, 1, 8)
	h.stop(s, false)
	s = h.start(sink.spec())
	h.add(s.Stream(), id, 9, 9)
	h.stop(s, false)
	if got := join(sink.events(8)); got != "1 2 3 5 6 7 8 9" {
		t.Errorf("got %s", got)
	}
}

func TestDeleted(t *testing.T) {
	t.Parallel()
	h, sink := newServer(t), newSink(t)
	s := h.start(sink.spec(func(s *config.Webhook) { s.FlushDelay = 3600 }))
	id := h.conversation()
	h.add(s.Stream(), id, 1, 2)
	must.Succeed(t, s.Stream().Delete(t.Context(), id))
	if err := s.Flush(t.Context(), id); err != nil { // must not wait for a deleted conversation
		t.Fatal(err)
	}
	h.stop(s, false)
	s = h.start(sink.spec())
	h.stop(s, false)
	if len(sink.got) != 0 {
		t.Errorf("got %v", <-sink.got)
	}
}

// TestManyConversations holds that waiting conversations cost no goroutine.
func TestManyConversations(t *testing.T) {
	h, sink := newServer(t), newSink(t)
	release := make(chan struct{})
	sink.decide(func(post) int {
		<-release
		return http.StatusOK
	})
	s := h.start(sink.spec())
	before := runtime.NumGoroutine()
	for range 10_000 {
		s.Tell(event.NewConversationID(), json.RawMessage(`{}`))
	}
	if n := runtime.NumGoroutine() - before; n > 8*6 { // both ends of eight posts
		t.Errorf("%d goroutines for 10,000 conversations", n)
	}
	close(release)
	for range 10_000 {
		<-sink.got
	}
	h.stop(s, false)
}

func TestQueueLimit(t *testing.T) {
	t.Parallel()
	h, sink := newServer(t), newSink(t)
	gate := make(chan struct{})
	sink.decide(func(post) int {
		<-gate
		return http.StatusOK
	})
	s := h.start(sink.spec(func(s *config.Webhook) { s.MaxQueueBytes = 300 }))
	id := h.conversation()
	for i := range 50 {
		s.Tell(id, json.RawMessage(fmt.Sprintf(`{"n":%2d,"pad":%q}`, i, strings.Repeat("x", 84))))
	}
	close(gate)
	must.Succeed(t, s.Flush(t.Context(), id))
	h.stop(s, false)
	var last post
	n := len(sink.got)
	for range n {
		last = <-sink.got
	}
	if n > 4 || !strings.Contains(string(last.raw), `"n":49`) {
		t.Errorf("%d states, the last is %s", n, last.raw)
	}
}
