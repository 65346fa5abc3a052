package session_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/spec"
	"github.com/deft-dev/deft/state"
)

func TestRun(t *testing.T) {
	t.Parallel()
	h := setup(t, inTurn(shell("ls"), finished("it is done")), nil)
	c := h.begin(t, "")
	send(t, c, "list the files")
	settle(t, c)
	want := []string{
		"user: list the files", "running", "ActionEvent", "ObservationEvent", "ActionEvent", "ObservationEvent", "finished",
	}
	if diff := cmp.Diff(want, h.kinds(t, c.ID())); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if text, err := c.Assistant().FinalResponse(t.Context()); err != nil || text != "it is done" {
		t.Errorf("final response %q, %v", text, err)
	}
	if n := h.Running(); n != 0 {
		t.Errorf("%d runs after the end", n)
	}
}

// TestSendWhileRunning proves that a run reads messages that arrive meanwhile.
func TestSendWhileRunning(t *testing.T) {
	t.Parallel()
	var seen []string
	h := setup(t, nil, nil)
	h.model.answer = func(_ context.Context, r llm.Request) (*llm.Response, error) {
		if len(seen) == 0 {
			seen = append(seen, "")
			return shell("block"), nil
		}
		seen = append(seen, lastText(r))
		return says("both"), nil
	}
	c := h.begin(t, "")
	send(t, c, "first")
	<-h.tools.started
	if err := c.Run(t.Context()); !fault.Is(err, fault.Conflict) {
		t.Errorf("a second run: %v", err)
	}
	send(t, c, "second")
	close(h.tools.release)
	settle(t, c)
	if diff := cmp.Diff([]string{"", "second"}, seen); diff != "" {
		t.Errorf("the model heard (-want +got):\n%s", diff)
	}
	if got := status(t, c); got != "finished" {
		t.Errorf("status %s", got)
	}
	if n := h.model.calls(); n != 2 {
		t.Errorf("the model was called %d times", n)
	}
}

// TestSendAtTheEnd sends a second message at any moment of the end of the run
// for the first, some hundred times, in the proof a thousand times: none is left unanswered,
// and there are never two runs.
func TestSendAtTheEnd(t *testing.T) {
	t.Parallel()
	h := setup(t, func(_ context.Context, r llm.Request) (*llm.Response, error) {
		return says("re: " + heard(r)), nil
	}, nil)
	rounds := 60
	switch {
	case os.Getenv("DEFT_PROOF") != "":
		rounds = 250
	case testing.Short():
		rounds = 25
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() { endings(t, h, rounds) })
	}
	all.Wait()
	if n := h.model.atOnce(); n > 4 {
		t.Errorf("the model was called %d times at once for 4 conversations", n)
	}
	if n := h.Running(); n != 0 {
		t.Errorf("%d runs after the end", n)
	}
}

// endings sends pairs of messages; the second comes near the end of the run
// for the first.
func endings(t *testing.T, h *fixture, rounds int) {
	var c *session.Conversation
	for i := range rounds {
		if i%50 == 0 { // a conversation that grows makes the test slow, not better
			c = h.begin(t, "")
		}
		send(t, c, fmt.Sprint("a", i))
		for range i % 97 {
			runtime.Gosched()
		}
		if i%3 == 0 {
			settle(t, c)
		}
		send(t, c, fmt.Sprint("b", i))
		settle(t, c)
		last := lastRecord(t, h, c)
		if want := fmt.Sprint("agent: re: b", i); last != want {
			t.Errorf("round %d ends with %q, want %q: %q", i, last, want, tail(h.kinds(t, c.ID())))
			return
		}
		if got := status(t, c); got != "finished" {
			t.Errorf("round %d: status %s", i, got)
			return
		}
	}
}

// heard is the last message of the user: a note that it came while the agent
// answered stands behind it.
func heard(r llm.Request) string {
	for _, m := range slices.Backward(r.Messages) {
		text := event.JoinText(m.Content)
		if m.Role == event.RoleUser && !strings.HasPrefix(text, "A message of the user arrived") {
			return text
		}
	}
	return ""
}

func tail(all []string) []string { return all[max(0, len(all)-12):] }

// lastRecord is the last message of a conversation.
func lastRecord(t *testing.T, h *fixture, c *session.Conversation) string {
	t.Helper()
	all := slices.DeleteFunc(h.kinds(t, c.ID()), func(s string) bool { return !strings.Contains(s, ": ") })
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1]
}

// TestStopWins stops at any moment: at the start of a run, in it, at its end, and
// where another is to follow. A stopped run stays so.
func TestStopWins(t *testing.T) {
	t.Parallel()
	for _, how := range []struct {
		name string
		stop func(*session.Conversation, context.Context) error
	}{
		{"pause", (*session.Conversation).Pause},
		{"interrupt", (*session.Conversation).Interrupt},
	} {
		t.Run(how.name, func(t *testing.T) {
			t.Parallel()
			// The model never finishes: only a stop ends a run.
			var n atomic.Int64
			h := setup(t, func(ctx context.Context, _ llm.Request) (*llm.Response, error) {
				if i := n.Add(1); i%4 != 0 {
					return does("think", fmt.Sprintf(`{"thought":"thought %d"}`, i)), nil
				}
				<-ctx.Done()
				return nil, ctx.Err()
			}, nil)
			c := h.begin(t, "")
			for i := range 100 {
				var both sync.WaitGroup
				both.Go(func() {
					if err := c.Send(t.Context(), message(fmt.Sprint("work ", i), true)); err != nil {
						t.Error(err)
					}
				})
				for range i * 20 {
					runtime.Gosched()
				}
				both.Wait()
				must.Succeed(t, how.stop(c, t.Context()))
				settle(t, c)
				if got := status(t, c); got != "paused" {
					t.Fatalf("round %d: status %s after a stop: %q", i, got, tail(h.kinds(t, c.ID())))
				}
				if i%20 == 19 {
					c = h.begin(t, "")
				}
			}
		})
	}
}

// TestStopBesideStart stops while another caller starts: whichever comes first,
// the conversation comes to rest.
func TestStopBesideStart(t *testing.T) {
	t.Parallel()
	h := setup(t, func(ctx context.Context, _ llm.Request) (*llm.Response, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}, nil)
	for i := range 100 {
		c := h.begin(t, "")
		var sent sync.WaitGroup
		sent.Go(func() { send(t, c, "go") })
		for range i * 5 {
			runtime.Gosched()
		}
		must.Succeed(t, c.Interrupt(t.Context()))
		sent.Wait()
		// The message may have come after the stop; then a second one must end it.
		must.Succeed(t, c.Interrupt(t.Context()))
		settle(t, c)
		if got := status(t, c); got != "paused" {
			t.Fatalf("round %d: status %s", i, got)
		}
	}
}

func TestPause(t *testing.T) {
	t.Parallel()
	h := setup(t, inTurn(shell("block"), says("went on")), nil)
	c := h.begin(t, "")
	send(t, c, "work")
	<-h.tools.started
	send(t, c, "and this") // wants a run to follow
	must.Succeed(t, c.Pause(t.Context()))
	close(h.tools.release) // a pause lets the command end
	settle(t, c)
	if got := status(t, c); got != "paused" {
		t.Fatalf("status %s: %q", got, h.kinds(t, c.ID()))
	}
	if !strings.Contains(h.stored(t, c.ID()), "released") {
		t.Error("the command did not end by itself")
	}
	must.Succeed(t, c.Run(t.Context()))
	settle(t, c)
	if got := lastRecord(t, h, c); got != "agent: went on" {
		t.Errorf("after the pause: %q", got)
	}
}

func TestInterrupt(t *testing.T) {
	t.Parallel()
	h := setup(t, inTurn(shell("block")), nil)
	c := h.begin(t, "")
	send(t, c, "work")
	<-h.tools.started
	must.Succeed(t, c.Interrupt(t.Context()))
	settle(t, c)
	got := h.kinds(t, c.ID())
	want := []string{"user: work", "running", "ActionEvent", "ObservationEvent", "InterruptEvent", "paused"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if !strings.Contains(h.stored(t, c.ID()), "stopped") {
		t.Error("the command was not stopped")
	}
}

// TestPauseAtRest marks a conversation that does nothing.
func TestPauseAtRest(t *testing.T) {
	t.Parallel()
	h := setup(t, inTurn(says("hello")), nil)
	c := h.begin(t, "")
	must.Succeed(t, c.Pause(t.Context()))
	if diff := cmp.Diff([]string{"PauseEvent", "paused"}, h.kinds(t, c.ID())); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	send(t, c, "hi")
	settle(t, c)
	must.Succeed(t, c.Pause(t.Context()))
	if got := status(t, c); got != "finished" {
		t.Errorf("a finished conversation became %s", got)
	}
}

// TestMessageAfterError answers a message that was sent after a failed run.
func TestMessageAfterError(t *testing.T) {
	t.Parallel()
	n := 0
	h := setup(t, nil, nil)
	h.model.answer = func(context.Context, llm.Request) (*llm.Response, error) {
		if n++; n == 1 {
			return nil, fault.New(fault.Auth, "no such key")
		}
		return says("hello"), nil
	}
	c := h.begin(t, "")
	send(t, c, "hi")
	settle(t, c)
	if got := status(t, c); got != "error" {
		t.Fatalf("status %s", got)
	}
	send(t, c, "again")
	settle(t, c)
	if got := lastRecord(t, h, c); got != "agent: hello" {
		t.Errorf("last is %q", got)
	}
}

func TestCapacity(t *testing.T) {
	t.Parallel()
	h := setup(t, func(_ context.Context, r llm.Request) (*llm.Response, error) {
		if lastText(r) == "block" {
			return shell("block"), nil
		}
		return says("done"), nil
	}, func(o *session.Options) { o.MaxRuns = 1 })
	a, b := h.begin(t, ""), h.begin(t, "")
	send(t, a, "block")
	<-h.tools.started
	if n := h.Running(); n != 1 {
		t.Errorf("%d runs", n)
	}
	// A message is kept, and the sender gets an error.
	err := b.Send(t.Context(), message("later", true))
	if !fault.Is(err, fault.RateLimit) || !strings.Contains(err.Error(), "saved") {
		t.Errorf("send beyond capacity: %v", err)
	}
	if diff := cmp.Diff([]string{"user: later"}, h.kinds(t, b.ID())); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if err := b.Run(t.Context()); !fault.Is(err, fault.RateLimit) {
		t.Errorf("run beyond capacity: %v", err)
	}
	// A conversation that cannot answer its first message is not created.
	before, err := h.All().Count(t.Context(), eventstream.ListQuery{})
	must.Succeed(t, err)
	r := h.request(t, `"initial_message":{"content":[{"type":"text","text":"hi"}]}`)
	if _, _, err := h.Create(t.Context(), r); !fault.Is(err, fault.RateLimit) {
		t.Errorf("create beyond capacity: %v", err)
	}
	if after, err := h.All().Count(t.Context(), eventstream.ListQuery{}); err != nil || after != before {
		t.Errorf("%d conversations, then %d: %v", before, after, err)
	}
	close(h.tools.release)
	settle(t, a)
	if err := b.Run(t.Context()); err != nil {
		t.Fatalf("run when there is room: %v", err)
	}
	settle(t, b)
	if got := lastRecord(t, h, b); got != "agent: done" {
		t.Errorf("last is %q", got)
	}
}

// TestCapacityAtEnd starts a run as soon as the end of another one is stored: clients see
// that before the run gives its permit back.
func TestCapacityAtEnd(t *testing.T) {
	t.Parallel()
	h := setup(t, func(context.Context, llm.Request) (*llm.Response, error) { return says("done"), nil }, func(o *session.Options) { o.MaxRuns = 1 })
	all := []*session.Conversation{h.begin(t, ""), h.begin(t, "")}
	var seen [2]eventstream.Seq
	for round := range 200 {
		c, n := all[round%2], &seen[round%2]
		if err := c.Send(t.Context(), message("go on", true)); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		for rec, err := range h.stream.Follow(t.Context(), c.ID(), *n+1) {
			must.Succeed(t, err)
			*n = rec.Seq
			if strings.Contains(string(rec.JSON), `"execution_status"`) && !strings.Contains(string(rec.JSON), `"running"`) {
				break
			}
		}
	}
}

// TestBuildFails releases the resources of a conversation that cannot be built.
func TestBuildFails(t *testing.T) {
	t.Parallel()
	broken := errors.New("no tools today")
	h := setup(t, inTurn(says("hello")), nil)
	h.reject = func(session.BuildRequest) error { return broken }
	c := h.begin(t, "")
	if err := c.Send(t.Context(), message("hi", true)); !errors.Is(err, broken) {
		t.Fatalf("send: %v", err)
	}
	h.mu.Lock()
	h.reject = nil
	h.mu.Unlock()
	send(t, c, "hi")
	settle(t, c)
	if got := lastRecord(t, h, c); got != "agent: hello" {
		t.Errorf("last is %q", got)
	}
}

// TestSwitchDuringSteps switches the LLM again and again while actions of the
// agent are stored, which asks the conversation for its analyzer.
func TestSwitchDuringSteps(t *testing.T) {
	t.Parallel()
	const steps = 60
	answers := make([]*llm.Response, 0, steps+1)
	for i := range steps {
		answers = append(answers, shell(fmt.Sprint("step ", i)))
	}
	h := setup(t, inTurn(append(answers, says("done"))...), nil)
	c := h.begin(t, "")
	send(t, c, "go")
	ended := make(chan error, 1)
	go func() { ended <- c.Wait(t.Context()) }()
	for i := 0; ; i++ {
		select {
		case err := <-ended:
			if err != nil || status(t, c) != "finished" {
				t.Errorf("%s: %v", status(t, c), err)
			}
			return
		default:
			must.Succeed(t, c.SwitchLLM(t.Context(), spec.NewLLM(fmt.Sprint("openai/other", i%2))))
		}
	}
}

// fillable is a store that can be full.
type fillable struct {
	eventstream.Stream
	full atomic.Bool
}

func (f *fillable) Append(ctx context.Context, id event.ConversationID, evs ...event.Event) (eventstream.Seq, error) {
	if f.full.Load() {
		return 0, fault.New(fault.Full, "no space left")
	}
	return f.Stream.Append(ctx, id, evs...)
}

// TestFailure: a run that cannot record how it ended tells why all the same, and goes on
// when there is space again.
func TestFailure(t *testing.T) {
	t.Parallel()
	var store *fillable
	h := setup(t, inTurn(shell("block"), finished("lost"), finished("done")), func(o *session.Options) {
		store = &fillable{Stream: o.Store}
		o.Store = store
	})
	c := h.begin(t, "")
	send(t, c, "work")
	<-h.tools.started
	if err := c.Failure(); err != nil {
		t.Errorf("during the run: %v", err)
	}
	store.full.Store(true)
	close(h.tools.release)
	settle(t, c)
	if err := c.Failure(); !fault.Is(err, fault.Full) {
		t.Errorf("%v, want that the store is full", err)
	}
	store.full.Store(false)
	must.Succeed(t, c.Run(t.Context()))
	settle(t, c)
	s, err := c.State(t.Context())
	if err != nil || c.Failure() != nil || s.Status != state.Finished {
		t.Errorf("%v, %v, status %v; want that it has finished", err, c.Failure(), s.Status)
	}
}

// TestSendOnce: a message that is sent again with its id, because the process that sent it
// could not record that, is stored and answered once.
func TestSendOnce(t *testing.T) {
	t.Parallel()
	h := setup(t, inTurn(says("first"), says("second")), nil)
	c := h.begin(t, "")
	m := message("work", false)
	m.ID = event.NewID()
	must.Succeed(t, c.Send(t.Context(), m))
	m.Run = true
	for range 2 { // the first time only the message was stored
		must.Succeed(t, c.Send(t.Context(), m))
		settle(t, c)
	}
	if diff := cmp.Diff([]string{"user: work", "running", "agent: first", "finished"}, h.kinds(t, c.ID())); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}
