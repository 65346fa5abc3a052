package controller_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/controller"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/state"
	"github.com/deft-dev/deft/tool"
)

func TestRunToFinish(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, script(calls([2]string{"terminal", `{"command":"ls"}`}), done()))
	b.send(t, "go")
	b.mustRun(t)
	if s := b.State().Status; s != state.Finished {
		t.Fatalf("status %s, want finished (%s)", s, b.lastError(t))
	}
	want := []string{"SystemPromptEvent", "MessageEvent", "ActionEvent", "ObservationEvent", "ActionEvent", "ObservationEvent"}
	if diff := cmp.Diff(want, b.kinds()); diff != "" {
		t.Error(diff)
	}
	if m := b.State().Stats.UsageToMetrics["agent"]; len(m.TokenUsages) != 2 {
		t.Errorf("%d calls counted, want 2", len(m.TokenUsages))
	}
	before := b.State()
	b.reopen(t)
	if b.State().Head != before.Head || b.State().Seq != before.Seq {
		t.Error("a reopened conversation is in another state")
	}
	b.mustRun(t)
	if b.model.count() != 2 {
		t.Error("running a finished conversation called the model")
	}
}

func TestTextReplyFinishes(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, script(says("hello")))
	b.send(t, "hi")
	b.mustRun(t)
	if s := b.State().Status; s != state.Finished {
		t.Errorf("status %s", s)
	}
}

func TestEmptyAnswerIsNudged(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, script(says(""), done()))
	b.send(t, "go")
	b.mustRun(t)
	if s := b.State().Status; s != state.Finished || b.model.count() != 2 {
		t.Errorf("status %s after %d calls", s, b.model.count())
	}
}

func TestInvalidCallIsAnsweredAndTheRunGoesOn(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, script(calls([2]string{"nonsense", `{}`}, [2]string{"terminal", `{"command":"ls"}`}), done()))
	b.send(t, "go")
	b.mustRun(t)
	want := []string{"SystemPromptEvent", "MessageEvent", "ActionEvent", "ActionEvent", "AgentErrorEvent", "ObservationEvent", "ActionEvent", "ObservationEvent"}
	if diff := cmp.Diff(want, b.kinds()); diff != "" {
		t.Error(diff)
	}
	if len(b.rt.ran) != 1 {
		t.Errorf("%d actions ran, want 1", len(b.rt.ran))
	}
}

func TestSafeActionsRunSideBySideAndAnswerInCallOrder(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, script(calls(
		[2]string{"terminal", `{"command":"a"}`}, [2]string{"terminal", `{"command":"b"}`}, [2]string{"terminal", `{"command":"c"}`}), done()))
	var meet sync.WaitGroup
	meet.Add(3)
	b.rt.do = func(ctx context.Context, r tool.Request) (event.Observation, error) {
		meet.Done()
		meet.Wait() // deadlocks unless all three run at once
		return echo(ctx, r)
	}
	b.send(t, "go")
	b.mustRun(t)
	var got []string
	for _, ev := range b.State().View {
		if o, ok := ev.(*event.ObservationEvent); ok && o.ToolName == "terminal" {
			got = append(got, event.JoinText(o.Observation.Result().Content))
		}
	}
	if diff := cmp.Diff([]string{"a", "b", "c"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestMessageDuringTheCallKeepsTheRunGoing(t *testing.T) {
	t.Parallel()
	var b *bundle
	b = setup(t, nil, func(_ context.Context, n int, r llm.Request) (*llm.Response, error) {
		if n == 0 {
			b.send(t, "and also this")
			return says("first answer"), nil
		}
		last := r.Messages[len(r.Messages)-1]
		if last.Role != event.RoleUser {
			t.Errorf("the last message of the prompt is of role %s", last.Role)
		}
		return says("second answer"), nil
	})
	b.send(t, "this")
	b.mustRun(t)
	if n := b.model.count(); n != 2 || b.State().Status != state.Finished {
		t.Errorf("%d calls, status %s", n, b.State().Status)
	}
}

func TestMessageDuringFinishKeepsTheRunGoing(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, script(calls([2]string{"terminal", `{"command":"x"}`}, [2]string{"finish", `{"message":"done"}`}), says("ok")))
	b.rt.do = func(ctx context.Context, r tool.Request) (event.Observation, error) {
		b.send(t, "wait, one more thing")
		return echo(ctx, r)
	}
	b.send(t, "this")
	b.mustRun(t)
	if n := b.model.count(); n != 2 || b.State().Status != state.Finished {
		t.Errorf("%d calls, status %s", n, b.State().Status)
	}
}

func TestPauseGivesUpTheCallAndResumes(t *testing.T) {
	t.Parallel()
	var b *bundle
	b = setup(t, nil, func(ctx context.Context, n int, _ llm.Request) (*llm.Response, error) {
		if n == 0 {
			b.Pause()
			<-ctx.Done()
			return nil, llm.NewError(fault.Canceled, "stub", "stub", "given up", ctx.Err())
		}
		return done(), nil
	})
	b.send(t, "go")
	b.mustRun(t)
	if s := b.State().Status; s != state.Paused {
		t.Fatalf("status %s, want paused", s)
	}
	b.mustRun(t)
	if s := b.State().Status; s != state.Finished {
		t.Errorf("status %s after resuming", s)
	}
}

// TestPauseBeforeAnActionIsAskedFor: an action that was stored while the user
// paused is made for the first time when the run goes on, not once more.
func TestPauseBeforeAnActionIsAskedFor(t *testing.T) {
	t.Parallel()
	var b *bundle
	b = setup(t, func(cfg *controller.Config) {
		cfg.Review = func(context.Context, []*event.ActionEvent) ([]event.Event, bool) {
			b.Pause()
			return nil, false
		}
	}, script(calls([2]string{"terminal", `{"command":"x"}`}), done()))
	asked := 0
	b.rt.do = func(ctx context.Context, r tool.Request) (event.Observation, error) {
		if asked++; r.Again {
			t.Error("asked for as if once more")
		}
		return echo(ctx, r)
	}
	b.send(t, "go")
	b.mustRun(t)
	if s := b.State(); s.Status != state.Paused || len(s.Pending) != 1 || asked != 0 {
		t.Fatalf("status %s, %d pending, asked for %d times", s.Status, len(s.Pending), asked)
	}
	b.mustRun(t)
	if s := b.State(); asked != 1 || len(s.Pending) != 0 {
		t.Errorf("asked for %d times, %d pending, status %s", asked, len(s.Pending), s.Status)
	}
}

// TestStopWaitsForAStepAhead holds that a step that the agent began while
// its message was stored counts, although the run is stopped before it takes
// that up: an answer that came finishes the run.
func TestStopWaitsForAStepAhead(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, func(ctx context.Context, _ int, _ llm.Request) (*llm.Response, error) {
		<-ctx.Done() // too late
		return says("answer"), nil
	})
	work, err := b.SendRun(t.Context(), event.NewUserMessage("go"), controller.RunOptions{})
	must.Succeed(t, err)
	if _, err := b.Interrupt(t.Context()); err != nil {
		t.Fatal(err)
	}
	must.Succeed(t, work(t.Context()))
	if s := b.State(); s.Status != state.Finished {
		t.Errorf("status %s", s.Status)
	}
}

func TestInterruptStopsTheRunningAction(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, script(calls([2]string{"terminal", `{"command":"sleep"}`}), done()))
	stopped := make(chan struct{})
	b.rt.interrupt = func(event.ID) { close(stopped) }
	b.rt.do = func(ctx context.Context, r tool.Request) (event.Observation, error) {
		if _, err := b.Interrupt(ctx); err != nil {
			t.Error(err)
		}
		<-stopped
		return echo(ctx, r)
	}
	b.send(t, "go")
	b.mustRun(t)
	if s := b.State(); s.Status != state.Paused || len(s.Pending) != 0 {
		t.Errorf("status %s with %d pending, want paused and none", s.Status, len(s.Pending))
	}
}

func TestIterationLimit(t *testing.T) {
	t.Parallel()
	n := 0
	b := setup(t, func(c *controller.Config) { c.MaxIterations = 3 }, func(context.Context, int, llm.Request) (*llm.Response, error) {
		n++
		return calls([2]string{"terminal", `{"command":"` + strings.Repeat("x", n) + `"}`}), nil
	})
	b.send(t, "go")
	b.mustRun(t)
	if b.model.count() != 3 || b.State().Status != state.Errored || b.lastError(t) != "MaxIterationsReached" {
		t.Errorf("%d calls, status %s, error %s", b.model.count(), b.State().Status, b.lastError(t))
	}
}

func TestConfirmation(t *testing.T) {
	t.Parallel()
	ask := func(c *controller.Config) {
		c.Review = func(context.Context, []*event.ActionEvent) ([]event.Event, bool) { return nil, true }
	}
	answers := func() func(context.Context, int, llm.Request) (*llm.Response, error) {
		return script(calls([2]string{"terminal", `{"command":"ls"}`}), done())
	}
	t.Run("run confirms", func(t *testing.T) {
		t.Parallel()
		b := setup(t, ask, answers())
		b.send(t, "go")
		b.mustRun(t)
		if s := b.State().Status; s != state.Confirming || len(b.rt.ran) != 0 {
			t.Fatalf("status %s, %d actions ran", s, len(b.rt.ran))
		}
		b.reopen(t)
		b.rt.do = func(ctx context.Context, r tool.Request) (event.Observation, error) {
			if r.Again {
				t.Error("an action that waited for the user was taken for one that may have run")
			}
			return echo(ctx, r)
		}
		b.mustRun(t)
		if s := b.State().Status; s != state.Finished || len(b.rt.ran) != 1 {
			t.Errorf("status %s, %d actions ran", s, len(b.rt.ran))
		}
	})
	t.Run("reject", func(t *testing.T) {
		t.Parallel()
		b := setup(t, ask, answers())
		b.send(t, "go")
		b.mustRun(t)
		must.Succeed(t, b.Reject(context.Background(), "no"))
		b.mustRun(t)
		if s := b.State().Status; s != state.Finished || len(b.rt.ran) != 0 {
			t.Errorf("status %s, %d actions ran", s, len(b.rt.ran))
		}
		if err := b.Reject(context.Background(), "no"); !fault.Is(err, fault.Conflict) {
			t.Errorf("rejecting nothing: %v", err)
		}
	})
	t.Run("message supersedes", func(t *testing.T) {
		t.Parallel()
		b := setup(t, ask, answers())
		b.send(t, "go")
		b.mustRun(t)
		b.send(t, "something else")
		if s := b.State(); s.Status != state.Idle || len(s.Pending) != 0 {
			t.Errorf("status %s, %d pending", s.Status, len(s.Pending))
		}
	})
}

func TestSecondRunIsRefused(t *testing.T) {
	t.Parallel()
	var b *bundle
	b = setup(t, nil, func(ctx context.Context, _ int, _ llm.Request) (*llm.Response, error) {
		if err := b.Run(ctx); !fault.Is(err, fault.Conflict) {
			t.Errorf("second run: %v, want a conflict", err)
		}
		if err := b.Navigate(ctx, ""); !fault.Is(err, fault.Conflict) {
			t.Errorf("navigate while running: %v, want a conflict", err)
		}
		return done(), nil
	})
	b.send(t, "go")
	b.mustRun(t)
}

// TestPauseDuringCondensation gives up a condensation on request, which is no
// run: who asked for it learns that it was not made.
func TestPauseDuringCondensation(t *testing.T) {
	t.Parallel()
	var b *bundle
	b = setup(t, nil, func(ctx context.Context, n int, _ llm.Request) (*llm.Response, error) {
		if n == 0 {
			return says("hello"), nil
		}
		if b.Pause() {
			t.Error("a condensation counts as a run")
		}
		<-ctx.Done()
		return nil, llm.NewError(fault.Canceled, "stub", "stub", "given up", ctx.Err())
	})
	b.send(t, "go")
	b.mustRun(t)
	b.send(t, "more")
	if err := b.Condense(t.Context()); !fault.Is(err, fault.Canceled) {
		t.Errorf("the condensation gave %v", err)
	}
	if b.Busy() {
		t.Error("still busy")
	}
}

// TestCondenseAgain asks for a condensation whose request was stored before its
// controller was closed: it is answered, and not asked for twice.
func TestCondenseAgain(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, func(context.Context, int, llm.Request) (*llm.Response, error) { return says("hello"), nil })
	b.send(t, "go")
	b.mustRun(t)
	b.send(t, "more")
	must.Succeed(t, b.Record(t.Context(), &event.CondensationRequest{Base: event.NewBase(event.SourceEnvironment)}))
	b.reopen(t)
	must.Succeed(t, b.Condense(t.Context()))
	if b.State().CondensationRequested {
		t.Error("the request is not answered")
	}
	page, err := b.stream.Search(t.Context(), b.ID(), eventstream.Query{Kinds: []string{"CondensationRequest"}, Limit: 10})
	if err != nil || len(page.Records) != 1 {
		t.Errorf("%d requests are stored, want 1: %v", len(page.Records), err)
	}
}

// TestEveryMessageIsAnswered sends messages from many sides while runs end and
// condensations come between: the last word is the agent's.
func TestEveryMessageIsAnswered(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, func(context.Context, int, llm.Request) (*llm.Response, error) { return says("hello"), nil })
	var senders, runs sync.WaitGroup
	for i := range 8 {
		senders.Go(func() {
			for n := range 20 {
				if i == 0 && n%5 == 4 {
					if err := b.Condense(t.Context()); err != nil && !fault.Is(err, fault.Context) {
						t.Errorf("condense: %v", err)
					}
				}
				work, err := b.SendRun(t.Context(), event.NewUserMessage("go"), controller.RunOptions{})
				if err != nil {
					t.Errorf("send: %v", err)
				}
				if work == nil {
					continue
				}
				runs.Go(func() {
					if err := work(t.Context()); err != nil {
						t.Errorf("run: %v", err)
					}
				})
			}
		})
	}
	senders.Wait()
	runs.Wait()
	if s := b.State(); s.Status != state.Finished || b.Busy() {
		t.Errorf("status %s, busy %v: %s", s.Status, b.Busy(), b.lastError(t))
	}
	last := b.State().View[len(b.State().View)-1]
	if m, ok := last.(*event.MessageEvent); !ok || m.Source != event.SourceAgent {
		t.Errorf("the last event is a %s of the %s", last.Kind(), last.Meta().Source)
	}
}

// TestClose refuses runs for good, but not while one is at work.
func TestClose(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, script(calls([2]string{"terminal", `{"command":"ls"}`}), done()))
	b.send(t, "go")
	work, err := b.Start(t.Context(), controller.RunOptions{})
	must.Succeed(t, err)
	if err := b.Close(); !errors.Is(err, controller.ErrRunning) {
		t.Errorf("closed beside a run: %v", err)
	}
	must.Succeed(t, work(t.Context()))
	if s := b.State().Status; s != state.Finished {
		t.Errorf("a run that Close left alone ended as %s", s)
	}
	for range 2 {
		must.Succeed(t, b.Close())
	}
	msg := event.NewUserMessage("more")
	if work, err := b.SendRun(t.Context(), msg, controller.RunOptions{}); !errors.Is(err, controller.ErrClosed) || work != nil {
		t.Errorf("a message ran: %v", err)
	}
	if b.Has(msg.ID) {
		t.Error("a message that was refused is stored")
	}
	if _, err := b.Start(t.Context(), controller.RunOptions{}); !errors.Is(err, controller.ErrClosed) {
		t.Errorf("a run began: %v", err)
	}
	last := b.State().Seq
	for what, do := range map[string]func() error{
		"condense": func() error { return b.Condense(t.Context()) },
		"send":     func() error { return b.Send(t.Context(), event.NewUserMessage("late")) },
		"update":   func() error { return b.Update(t.Context(), "title", "late") },
		"record":   func() error { return b.Record(t.Context(), &event.PauseEvent{Base: event.NewBase(event.SourceUser)}) },
		"navigate": func() error { return b.Navigate(t.Context(), "") },
	} {
		if err := do(); !errors.Is(err, controller.ErrClosed) {
			t.Errorf("%s after Close: %v", what, err)
		}
	}
	if n, err := b.cfg.Stream.Last(t.Context(), b.ID()); err != nil || int64(n) != last {
		t.Errorf("%d events are stored after Close, want %d: %v", n, last, err)
	}
}
