package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/deft-dev/deft/agent"
	"github.com/deft-dev/deft/controller"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/session/internal/goal"
	"github.com/deft-dev/deft/state"
)

// Goal is an objective on which the agent of a conversation works, round after round, until a
// judge finds it reached.
type Goal struct{ c *Conversation }

// Goal returns the goal of the conversation.
func (c *Conversation) Goal() Goal { return Goal{c} }

// ErrNoGoal is returned if no goal was interrupted.
var ErrNoGoal = fault.New(fault.Invalid, "no_resumable_goal")

// Start lets the agent work on an objective until a judge finds it reached or the rounds are
// used up. Conflict while the conversation runs.
func (p Goal) Start(ctx context.Context, objective string, rounds int) error {
	return p.pursue(ctx, goal.Status{Active: true, Status: goal.Running, MaxIterations: rounds, Objective: objective},
		goal.Begin(objective))
}

// Resume continues a goal that was interrupted.
func (p Goal) Resume(ctx context.Context) error {
	w, err := p.c.work(ctx)
	if err != nil {
		return err
	}
	var g goal.Status
	if !w.Latest().Field(keyGoal, &g) || g.Status != goal.Interrupted {
		return ErrNoGoal
	}
	g.Active, g.Status = true, goal.Running
	return p.pursue(ctx, g, g.Continue())
}

// Stop ends the rounds and interrupts the present run.
func (p Goal) Stop(ctx context.Context) error {
	w, err := p.c.work(ctx)
	if err != nil {
		return err
	}
	var g goal.Status
	if !w.Latest().Field(keyGoal, &g) || !g.Active {
		return nil
	}
	if err := p.c.Interrupt(ctx); err != nil {
		return err
	}
	if err := p.c.Wait(ctx); err != nil {
		return err
	}
	return p.c.withWorker(ctx, func(w *worker) error { return p.end(ctx, w, goal.Interrupted) })
}

// end records the end of an active goal, unless it is recorded.
func (p Goal) end(ctx context.Context, w *worker, status string) error {
	var g goal.Status
	if !w.State().Field(keyGoal, &g) || !g.Active {
		return nil
	}
	g.Active, g.Status = false, status
	return w.Update(ctx, keyGoal, g)
}

func (p Goal) pursue(ctx context.Context, g goal.Status, prompt string) error {
	msg := event.NewUserMessage(prompt)
	tried := false
	return p.c.withWorker(ctx, func(w *worker) error {
		if w.Busy() {
			return ErrRunning
		}
		if p.c.m.full() {
			return ErrCapacity
		}
		if err := w.Update(ctx, keyGoal, g); err != nil {
			return err
		}
		stored := tried && w.Has(msg.ID) // by the worker before, which was closed
		tried = true
		if !stored {
			if err := w.Send(ctx, msg); err != nil {
				return err
			}
		}
		err := w.drive(ctx, func(o controller.RunOptions) (func(context.Context) error, error) {
			o.Judge = func(ctx context.Context) bool { return p.round(ctx, w) }
			return w.Start(ctx, o)
		})
		if err != nil && !errors.Is(err, controller.ErrClosed) {
			err = errors.Join(err, p.end(context.WithoutCancel(ctx), w, goal.Interrupted))
		}
		return err
	})
}

// round judges the result of a run, and reports whether another one follows.
func (p Goal) round(ctx context.Context, w *worker) bool {
	again, err := p.judge(ctx, w)
	if err != nil {
		p.c.m.o.Log.Warn("a goal ended early", "conversation", p.c.id, "err", err)
		if err := p.end(context.WithoutCancel(ctx), w, goal.Interrupted); err != nil {
			p.c.m.o.Log.Error("record the end of a goal", "conversation", p.c.id, "err", err)
		}
	}
	return again
}

// judgements bounds the calls of the judge for one round: a call that fails is no round.
const judgements = 2

func (p Goal) judge(ctx context.Context, w *worker) (again bool, err error) {
	s := w.State()
	var g goal.Status
	if !s.Field(keyGoal, &g) || !g.Active {
		return false, nil
	}
	if s.Status != state.Finished {
		return false, p.end(ctx, w, goal.Interrupted)
	}
	var v goal.Verdict
	for range judgements {
		if v, err = p.ask(ctx, w, g, s); err == nil {
			break
		}
	}
	if err != nil {
		return false, fmt.Errorf("judge the goal: %w", err)
	}
	g.Iteration++
	g.Verdict = &v
	switch {
	case v.Complete:
		g.Active, g.Status = false, goal.Complete
	case g.Iteration >= g.MaxIterations:
		g.Active, g.Status = false, goal.Capped
	}
	if err := w.Update(ctx, keyGoal, g); err != nil {
		return false, err
	}
	if !g.Active {
		return false, nil
	}
	return true, w.Send(ctx, event.NewUserMessage(g.Continue()))
}

func (p Goal) ask(ctx context.Context, w *worker, g goal.Status, s *state.State) (goal.Verdict, error) {
	m, done := w.Service(agent.UsageAgent)
	v, err := goal.Ask(ctx, m, string(p.c.id), g, s)
	return v, errors.Join(err, done(context.WithoutCancel(ctx)))
}
