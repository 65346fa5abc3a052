package controller_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/deft-dev/deft/agent/codeact"
	"github.com/deft-dev/deft/controller"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/memory"
	"github.com/deft-dev/deft/state"
)

// noSummary answers the agent, and fails to summarise.
func noSummary(_ context.Context, _ int, r llm.Request) (*llm.Response, error) {
	if len(r.Tools) == 0 {
		return nil, llm.NewError(fault.Unavailable, "stub", "stub", "the model wrote no summary", nil)
	}
	return says("hello"), nil
}

// condensing makes a conversation with something to summarise.
func condensing(t *testing.T, model func(context.Context, int, llm.Request) (*llm.Response, error)) *bundle {
	t.Helper()
	b := setup(t, nil, model)
	for range 3 {
		b.send(t, "go")
		b.mustRun(t)
	}
	return b
}

// stored returns how many events of a kind the conversation has.
func (b *bundle) stored(t *testing.T, kind string) int {
	t.Helper()
	page, err := b.stream.Search(t.Context(), b.ID(), eventstream.Query{Kinds: []string{kind}, Limit: 100})
	must.Succeed(t, err)
	return len(page.Records)
}

// TestCondensationThatFailsIsOver asks for a summary that the model does not write: the
// user reads why, the request is dropped for later processes too, and the next message is
// answered.
func TestCondensationThatFailsIsOver(t *testing.T) {
	t.Parallel()
	b := condensing(t, noSummary)
	before := len(b.State().View)
	if err := b.Condense(t.Context()); !fault.Is(err, fault.Unavailable) {
		t.Errorf("the condensation gave %v", err)
	}
	if code := b.lastError(t); code != "LLMServiceUnavailableError" {
		t.Errorf("the user reads %q", code)
	}
	if s := b.State(); s.CondensationRequested || s.Status != state.Finished || len(s.View) != before {
		t.Errorf("requested %v, status %s, %d events of %d", s.CondensationRequested, s.Status, len(s.View), before)
	}
	b.reopen(t)
	if b.State().CondensationRequested {
		t.Error("the request is there again after a restart")
	}
	calls := b.model.count()
	b.send(t, "more")
	b.mustRun(t)
	if s := b.State(); s.Status != state.Finished || b.model.count() != calls+1 {
		t.Errorf("status %s after %d calls, want the one of the agent", s.Status, b.model.count()-calls)
	}
}

// TestNothingToCondenseIsOver asks for a summary of nothing.
func TestNothingToCondenseIsOver(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, noSummary)
	b.send(t, "go")
	if err := b.Condense(t.Context()); !fault.Is(err, fault.Context) {
		t.Errorf("the condensation gave %v", err)
	}
	b.mustRun(t)
	if s := b.State(); s.CondensationRequested || s.Status != state.Finished || b.stored(t, "ConversationErrorEvent") != 0 {
		t.Errorf("requested %v, status %s", s.CondensationRequested, s.Status)
	}
}

// TestRunGoesOnWithoutSummary asks for a summary that fails while the agent works.
func TestRunGoesOnWithoutSummary(t *testing.T) {
	t.Parallel()
	var b *bundle
	var once sync.Once
	b = setup(t, nil, func(_ context.Context, n int, r llm.Request) (*llm.Response, error) {
		switch {
		case len(r.Tools) == 0:
			return nil, llm.NewError(fault.Unavailable, "stub", "stub", "the model wrote no summary", nil)
		case n < 4:
			return calls([2]string{"terminal", `{"command":"one"}`}), nil
		}
		once.Do(func() {
			if err := b.Condense(t.Context()); err != nil {
				t.Errorf("condense beside a run: %v", err)
			}
		})
		if b.stored(t, "Condensation") == 0 {
			return calls([2]string{"terminal", `{"command":"two"}`}), nil
		}
		return done(), nil
	})
	b.send(t, "go")
	b.mustRun(t)
	if s := b.State(); s.Status != state.Finished || s.CondensationRequested {
		t.Errorf("status %s (%s), requested %v", s.Status, b.lastError(t), s.CondensationRequested)
	}
	if n := b.stored(t, "ConversationErrorEvent"); n != 1 {
		t.Errorf("the user reads of %d errors, want 1", n)
	}
}

// TestMessageDuringCondensation sends messages while the history is summarised: none of
// them waits to be stored, and one run answers them when that is over, well or badly.
func TestMessageDuringCondensation(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{"made": nil, "failed": llm.NewError(fault.Unavailable, "stub", "stub", "no summary", nil)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b *bundle
			var work []func(context.Context) error
			var answered int
			b = condensing(t, func(_ context.Context, _ int, r llm.Request) (*llm.Response, error) {
				if len(r.Tools) > 0 {
					answered++
					return says("hello"), nil
				}
				for range 2 {
					w, err := b.SendRun(t.Context(), event.NewUserMessage("meanwhile"), controller.RunOptions{})
					if err != nil {
						t.Errorf("send: %v", err)
					}
					if w != nil {
						work = append(work, w)
					}
				}
				return says("notes"), err
			})
			if got := b.Condense(t.Context()); (got != nil) != (err != nil) {
				t.Errorf("condensed: %v", got)
			}
			if len(work) != 1 {
				t.Fatalf("%d runs follow, want 1", len(work))
			}
			if err := b.Run(t.Context()); !fault.Is(err, fault.Conflict) {
				t.Errorf("a run beside the one that follows: %v", err)
			}
			had := answered
			must.Succeed(t, work[0](t.Context()))
			if s := b.State(); s.Status != state.Finished || answered != had+1 || b.Busy() {
				t.Errorf("status %s after %d answers, busy %v", s.Status, answered-had, b.Busy())
			}
		})
	}
}

// TestStopDuringCondensation stops a condensation that a message waits for: neither is
// tried again, and a later message is answered.
func TestStopDuringCondensation(t *testing.T) {
	t.Parallel()
	var b *bundle
	var work func(context.Context) error
	b = condensing(t, func(ctx context.Context, _ int, r llm.Request) (*llm.Response, error) {
		if len(r.Tools) > 0 {
			return says("hello"), nil
		}
		var err error
		if work, err = b.SendRun(t.Context(), event.NewUserMessage("meanwhile"), controller.RunOptions{}); err != nil {
			t.Errorf("send: %v", err)
		}
		b.Pause()
		<-ctx.Done()
		return nil, llm.NewError(fault.Canceled, "stub", "stub", "given up", ctx.Err())
	})
	if err := b.Condense(t.Context()); !fault.Is(err, fault.Canceled) {
		t.Errorf("the condensation gave %v", err)
	}
	if err := work(t.Context()); err != nil || b.Busy() {
		t.Errorf("after the stop: %v, busy %v", err, b.Busy())
	}
	if s := b.State(); s.Status != state.Idle || s.CondensationRequested {
		t.Errorf("status %s, requested %v", s.Status, s.CondensationRequested)
	}
	b.mustRun(t)
	if s := b.State().Status; s != state.Finished || b.stored(t, "ConversationErrorEvent") != 0 {
		t.Errorf("status %s (%s)", s, b.lastError(t))
	}
}

// TestFollowingRunIsLeft ends the process of a run that waits for a condensation.
func TestFollowingRunIsLeft(t *testing.T) {
	t.Parallel()
	var b *bundle
	b = condensing(t, func(_ context.Context, _ int, r llm.Request) (*llm.Response, error) {
		if len(r.Tools) > 0 {
			return says("hello"), nil
		}
		work, err := b.SendRun(t.Context(), event.NewUserMessage("meanwhile"), controller.RunOptions{})
		if err != nil {
			t.Errorf("send: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := work(ctx); err != context.Canceled { //nolint:errorlint // as it is
			t.Errorf("left: %v", err)
		}
		return says("notes"), nil
	})
	must.Succeed(t, b.Condense(t.Context()))
	if b.Busy() {
		t.Error("busy with a run that nobody drives")
	}
	if !slices.Contains(b.kinds(), "CondensationSummaryEvent") {
		t.Error("nothing was condensed")
	}
}

// TestUncondensed: a condenser that fails while the run can go on is told once, until it has
// succeeded again; the agent is not shown it.
func TestUncondensed(t *testing.T) {
	t.Parallel()
	works := false
	b := setup(t, nil, func(_ context.Context, _ int, r llm.Request) (*llm.Response, error) {
		switch {
		case len(r.Tools) > 0:
			return says("hello"), nil
		case works:
			return says("the summary"), nil
		}
		return nil, llm.NewError(fault.Auth, "stub", "stub", "the key is wrong", nil)
	})
	a, err := codeact.New(codeact.Config{Tools: newAgent(t).Tools(), Condenser: memory.Summarizing{MaxSize: 8}})
	must.Succeed(t, err)
	must.Succeed(t, b.SetAgent(a))
	say := func(n int) {
		for range n {
			b.send(t, "go")
			b.mustRun(t)
		}
	}
	say(10) // several of them have to condense
	if n := b.stored(t, "ConversationErrorEvent"); n != 1 {
		t.Errorf("the user reads it %d times", n)
	}
	if code := b.lastError(t); code != "CondensationFailed" {
		t.Errorf("the code is %q", code)
	}
	if s := b.State(); s.Status != state.Finished {
		t.Errorf("status %s", s.Status)
	}
	works = true
	say(1)
	if n := b.stored(t, "Condensation"); n != 1 {
		t.Errorf("%d condensations", n)
	}
	works = false
	say(10)
	if n := b.stored(t, "ConversationErrorEvent"); n != 2 {
		t.Errorf("the user reads the second failure %d times", n-1)
	}
}
