package session_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/session"
)

// hearing is a model that hands out the user's messages, and answers when it is told to.
type hearing struct {
	*model
	heard  chan string
	answer chan struct{}
}

func (m hearing) Generate(ctx context.Context, r llm.Request, _ func(llm.Delta)) (*llm.Response, error) {
	text := ""
	for _, msg := range slices.Backward(r.Messages) {
		text = event.JoinText(msg.Content)
		if msg.Role == event.RoleUser && !strings.HasPrefix(text, "A message of the user arrived") { // which follows the answer beside which it came
			break
		}
	}
	select {
	case m.heard <- text:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case <-m.answer:
		return says("done"), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func textsOf(q session.Queue) []string {
	texts := []string{}
	for _, one := range q.Messages() {
		texts = append(texts, one.Text)
	}
	return texts
}

// listening makes a fixture whose model is a hearing, and a conversation in which it hears "begin".
func listening(t *testing.T, change func(*session.Options)) (hearing, *fixture, *session.Conversation) {
	t.Helper()
	m := hearing{&model{name: "openai/mock"}, make(chan string), make(chan struct{})}
	h := setup(t, nil, func(o *session.Options) {
		o.Models = modelsFunc(func(session.ModelOptions) (llm.Model, error) { return m, nil })
		if change != nil {
			change(o)
		}
	})
	c, _, err := h.Create(t.Context(), h.request(t, ""))
	must.Succeed(t, err)
	send(t, c, "begin")
	m.expect(t, "begin")
	return m, h, c
}

func (m hearing) expect(t *testing.T, want string) {
	t.Helper()
	if got := <-m.heard; got != want {
		t.Errorf("the model hears %q, want %q", got, want)
	}
}

// published hands out the events of a conversation that have a text and are not stored.
func published(t *testing.T, c *session.Conversation, text string) <-chan string {
	found := make(chan string, 100)
	t.Cleanup(c.Watch(func(tr session.Transient) {
		if strings.Contains(string(tr.Event), text) {
			found <- string(tr.Event)
		}
	}))
	return found
}

// TestQueue checks that messages wait until the agent has ended, one after the other, can be
// changed until then, and are published with each change.
func TestQueue(t *testing.T) {
	t.Parallel()
	m, _, c := listening(t, nil)
	changes := published(t, c, `"key":"queue"`)
	q := c.Queue()
	var ids []event.ID
	for _, text := range []string{"first", "never mind", "secnd"} {
		one, err := q.Add(t.Context(), text)
		must.Succeed(t, err)
		ids = append(ids, one.ID)
	}
	must.Succeed(t, q.Remove(t.Context(), ids[1]))
	must.Succeed(t, q.Edit(t.Context(), ids[2], "second"))
	if d := cmp.Diff([]string{"first", "second"}, textsOf(q)); d != "" {
		t.Error(d)
	}
	if len(changes) != 5 {
		t.Errorf("%d changes were published, want 5", len(changes))
	}
	for _, want := range []string{"first", "second"} {
		m.answer <- struct{}{}
		m.expect(t, want)
	}
	for len(textsOf(q)) > 0 {
		<-changes
	}
	for _, err := range []error{q.Remove(t.Context(), ids[0]), q.Edit(t.Context(), ids[2], "late")} {
		if !fault.Is(err, fault.NotFound) {
			t.Errorf("a sent message is changed: %v", err)
		}
	}
	m.answer <- struct{}{}
	settle(t, c)
	for _, id := range []event.ID{ids[0], ids[2]} {
		if _, err := c.Stream().Get(t.Context(), c.ID(), id); err != nil {
			t.Errorf("the event of a queued message: %v", err)
		}
	}
}

// TestQueueAfterRestart checks that a queue outlives the process and a stop of the agent, and goes
// on once the agent has ended.
func TestQueueAfterRestart(t *testing.T) {
	t.Parallel()
	m, h, c := listening(t, nil)
	one, err := c.Queue().Add(t.Context(), "first")
	must.Succeed(t, err)
	must.Succeed(t, c.Interrupt(t.Context()))
	settle(t, c)
	h.restart(t)

	c = h.get(t, c.ID())
	if _, err := c.OpenQueue(); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]session.Queued{one}, c.Queue().Messages()); d != "" {
		t.Error(d)
	}
	must.Succeed(t, c.Run(t.Context()))
	for _, want := range []string{"begin", "first"} {
		m.expect(t, want)
		m.answer <- struct{}{}
	}
	settle(t, c)
}

func TestQueueBounds(t *testing.T) {
	t.Parallel()
	_, _, c := listening(t, nil)
	q := c.Queue()
	for _, text := range []string{"", " \n", strings.Repeat("x", 300<<10)} {
		if _, err := q.Add(t.Context(), text); !fault.Is(err, fault.Invalid) {
			t.Errorf("a message of %d bytes: %v", len(text), err)
		}
	}
	for range 50 {
		_, err := q.Add(t.Context(), "x")
		must.Succeed(t, err)
	}
	if _, err := q.Add(t.Context(), "x"); !fault.Is(err, fault.Invalid) {
		t.Errorf("one too many: %v", err)
	}
	must.Succeed(t, c.Interrupt(t.Context()))
	settle(t, c)
	if n := len(q.Messages()); n != 50 {
		t.Errorf("a stopped agent has taken %d messages", 50-n)
	}
}

// TestQueueSend checks that a waiting message can be sent at once: to an agent that works, and to
// one that was stopped, with which the others wait.
func TestQueueSend(t *testing.T) {
	t.Parallel()
	m, _, c := listening(t, nil)
	q := c.Queue()
	var ids []event.ID
	for _, text := range []string{"first", "second", "third"} {
		one, err := q.Add(t.Context(), text)
		must.Succeed(t, err)
		ids = append(ids, one.ID)
	}
	must.Succeed(t, q.Send(t.Context(), ids[2]))
	m.answer <- struct{}{}
	m.expect(t, "third")
	must.Succeed(t, c.Interrupt(t.Context()))
	settle(t, c)
	if d := cmp.Diff([]string{"first", "second"}, textsOf(q)); d != "" {
		t.Error(d)
	}
	must.Succeed(t, q.Send(t.Context(), ids[1]))
	m.expect(t, "second")
	if err := q.Send(t.Context(), ids[1]); !fault.Is(err, fault.NotFound) {
		t.Errorf("a message is sent twice: %v", err)
	}
	m.answer <- struct{}{}
	m.expect(t, "first")
	m.answer <- struct{}{}
	settle(t, c)
}

// TestQueueAfterCrash checks that a message whose event was stored before a crash is not sent
// again, and is taken out although the agent works.
func TestQueueAfterCrash(t *testing.T) {
	t.Parallel()
	m, _, c := listening(t, nil)
	ahead, err := c.Queue().Add(t.Context(), "ahead")
	must.Succeed(t, err)
	one, err := c.Queue().Add(t.Context(), "first")
	must.Succeed(t, err)
	sent := message("first", true)
	sent.ID = one.ID
	must.Succeed(t, c.Send(t.Context(), sent))
	changes := published(t, c, `"key":"queue","value":[{"id":"`+string(ahead.ID)+`","text":"ahead"}]`)
	_, err = c.OpenQueue()
	must.Succeed(t, err)
	<-changes
	for _, want := range []string{"first", "ahead"} {
		m.answer <- struct{}{}
		m.expect(t, want)
	}
	m.answer <- struct{}{}
	settle(t, c)
}

// TestQueueStaysBehind checks that a fork does not send what waits in its source.
func TestQueueStaysBehind(t *testing.T) {
	t.Parallel()
	m, _, c := listening(t, nil)
	_, err := c.Queue().Add(t.Context(), "first")
	must.Succeed(t, err)
	f, err := c.Branches().Fork(t.Context(), session.ForkOptions{})
	must.Succeed(t, err)
	if got := textsOf(f.Queue()); len(got) > 0 {
		t.Errorf("the fork has %q", got)
	}
	m.answer <- struct{}{}
	m.expect(t, "first")
	m.answer <- struct{}{}
	settle(t, c)
}

// TestQueueWithoutCapacity checks that a message which cannot be answered now is said to be in the
// conversation.
func TestQueueWithoutCapacity(t *testing.T) {
	t.Parallel()
	m, h, c := listening(t, func(o *session.Options) { o.MaxRuns = 1 })
	other, _, err := h.Create(t.Context(), h.request(t, ""))
	must.Succeed(t, err)
	failures := published(t, other, "QueuedMessageFailed")
	one, err := other.Queue().Add(t.Context(), "first")
	must.Succeed(t, err)
	if got := <-failures; !strings.Contains(got, "Message saved") {
		t.Error(got)
	}
	if _, err := other.Stream().Get(t.Context(), other.ID(), one.ID); err != nil {
		t.Error(err)
	}
	if got := textsOf(other.Queue()); len(got) > 0 {
		t.Errorf("%q wait", got)
	}
	m.answer <- struct{}{}
	settle(t, c)
}

// TestQueueChangesAtOnce checks that the last queue that is published has all changes.
func TestQueueChangesAtOnce(t *testing.T) {
	t.Parallel()
	_, _, c := listening(t, nil)
	changes := published(t, c, `"key":"queue"`)
	var adding sync.WaitGroup
	for range 30 {
		adding.Go(func() {
			if _, err := c.Queue().Add(t.Context(), "one"); err != nil {
				t.Error(err)
			}
		})
	}
	adding.Wait()
	var last string
	for range 30 {
		last = <-changes
	}
	if n := strings.Count(last, `"text"`); n != 30 {
		t.Errorf("the last published queue has %d messages, want 30", n)
	}
	must.Succeed(t, c.Interrupt(t.Context()))
	settle(t, c)
}

// TestQueueHeld checks that a program which ends with the agent leaves messages for a server.
func TestQueueHeld(t *testing.T) {
	t.Parallel()
	m, _, c := listening(t, func(o *session.Options) { o.HoldQueues = true })
	one, err := c.Queue().Add(t.Context(), "first")
	must.Succeed(t, err)
	m.answer <- struct{}{}
	settle(t, c)
	_, err = c.OpenQueue()
	must.Succeed(t, err)
	must.Succeed(t, c.Send(t.Context(), message("second", true)))
	m.expect(t, "second")
	m.answer <- struct{}{}
	settle(t, c)
	if d := cmp.Diff([]session.Queued{one}, c.Queue().Messages()); d != "" {
		t.Error(d)
	}
}
