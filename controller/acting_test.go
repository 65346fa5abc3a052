package controller_test

import (
	"context"
	"errors"
	"testing"

	"github.com/deft-dev/deft/agent"
	"github.com/deft-dev/deft/controller"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/state"
)

// acting is an agent whose steps have effects.
type acting struct {
	agent.Agent
	step func(ctx context.Context, t agent.Turn) ([]event.Event, error)
}

func (acting) Acts() bool { return true }

func (a acting) Step(ctx context.Context, t agent.Turn) ([]event.Event, error) { return a.step(ctx, t) }

// TestActingAgent holds that a step with effects begins on stored events only, stores events while it
// goes on, and is billed; and that its errors reach clients as it names them.
func TestActingAgent(t *testing.T) {
	t.Parallel()
	var b *bundle
	call := &event.ACPToolCallEvent{Base: event.NewBase(event.SourceAgent), ToolCallID: "c", Title: "make"}
	b = setup(t, func(c *controller.Config) {
		c.MaxCost = 1
		c.Agent = acting{c.Agent, func(ctx context.Context, turn agent.Turn) ([]event.Event, error) {
			if _, err := b.stream.Get(ctx, b.cfg.ID, turn.State.LastUserMessage); err != nil {
				t.Errorf("the step begins before its message is stored: %v", err)
			}
			if turn.MaxCost != 1 {
				t.Errorf("limit %v", turn.MaxCost)
			}
			must.Succeed(t, turn.Emit(call))
			if _, err := b.stream.Get(ctx, b.cfg.ID, call.ID); err != nil {
				t.Errorf("an event is not stored: %v", err)
			}
			turn.Spend(agent.Spending{Info: llm.Info{Name: "theirs"}, Response: llm.Response{Cost: 2, CostKnown: true}})
			return nil, &agent.Failure{Code: "ACPPromptError", Kind: "transient", Action: "retry", Err: fault.New(fault.Unavailable, "it has ended")}
		}}
	}, nil)
	work, err := b.SendRun(t.Context(), event.NewUserMessage("go"), controller.RunOptions{})
	must.Succeed(t, err)
	must.Succeed(t, work(t.Context()))
	s := b.State()
	if s.Status != state.Errored || b.lastError(t) != "ACPPromptError" || s.Stats.Cost() != 2 || s.Stats.UsageToMetrics[agent.UsageAgent].ModelName != "theirs" {
		t.Errorf("%s, %s, %+v", s.Status, b.lastError(t), s.Stats)
	}
	b.send(t, "more")
	b.mustRun(t)
	if got := b.lastError(t); got != "MaxBudgetReached" {
		t.Errorf("beyond the limit: %s", got)
	}
	if err := error(&agent.Failure{Err: fault.New(fault.Timeout, "late")}); !fault.Is(err, fault.Timeout) || !errors.Is(err, err) {
		t.Errorf("%v", err)
	}
}

// TestMessageBesideFinish answers a message that comes while the model writes the end.
func TestMessageBesideFinish(t *testing.T) {
	t.Parallel()
	var b *bundle
	b = setup(t, nil, func(ctx context.Context, n int, _ llm.Request) (*llm.Response, error) {
		if n == 0 {
			must.Succeed(t, b.Send(ctx, event.NewUserMessage("wait")))
		}
		return done(), nil
	})
	b.send(t, "go")
	b.mustRun(t)
	if s := b.State(); s.Status != state.Finished || b.model.count() != 2 {
		t.Errorf("%s after %d calls", s.Status, b.model.count())
	}
}
