package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/deft-dev/deft/agent"
	"github.com/deft-dev/deft/controller"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/structured"
	"github.com/deft-dev/deft/state"
)

// The ways a goal can stand.
const (
	goalRunning     = "running"
	goalComplete    = "complete"
	goalCapped      = "capped"
	goalInterrupted = "interrupted"
)

// goalStatus is the value of the state update with the key "goal"
// (docs/openhands/sdk-wire.md section 7.2).
type goalStatus struct {
	Active        bool     `json:"active"`
	Status        string   `json:"status"`
	Iteration     int      `json:"iteration"`
	MaxIterations int      `json:"max_iterations"`
	Objective     string   `json:"objective"`
	Verdict       *verdict `json:"verdict"`
}

// verdict is what the judge thinks of the work.
type verdict struct {
	Score    float64 `json:"score"`
	Complete bool    `json:"complete"`
	Missing  string  `json:"missing"`
}

var verdictSchema = json.RawMessage(`{"type":"object","properties":{` +
	`"score":{"type":"number","description":"how much of the objective is reached, from 0 to 1"},` +
	`"complete":{"type":"boolean","description":"whether all of it is reached"},` +
	`"missing":{"type":"string","description":"what is still missing, empty if nothing"}},` +
	`"required":["score","complete","missing"]}`)

const judgeSystem = `You judge whether an objective has been reached. You see the objective and what a
software engineer did and reported. Trust what commands printed more than what was
claimed. Something that was not checked is not done.`

// maxEvidence bounds what the judge is shown of a conversation, in characters.
const maxEvidence = 30_000

// ErrNoGoal is returned where no goal was interrupted.
var ErrNoGoal = fault.New(fault.Invalid, "no_resumable_goal")

// StartGoal lets the agent work on an objective, round after round, until a
// judge finds it reached or the rounds are used up. Conflict while the
// conversation runs.
func (c *Conversation) StartGoal(ctx context.Context, objective string, rounds int) error {
	return c.pursue(ctx, goalStatus{Active: true, Status: goalRunning, MaxIterations: rounds, Objective: objective},
		"Work towards this objective until all of it is reached, and check your work:\n\n"+objective)
}

// ResumeGoal goes on with a goal that was interrupted.
func (c *Conversation) ResumeGoal(ctx context.Context) error {
	w, err := c.work(ctx)
	if err != nil {
		return err
	}
	var g goalStatus
	if !w.Latest().Field(keyGoal, &g) || g.Status != goalInterrupted {
		return ErrNoGoal
	}
	g.Active, g.Status = true, goalRunning
	return c.pursue(ctx, g, goOn(g))
}

// StopGoal ends the rounds; the run that is at work is interrupted.
func (c *Conversation) StopGoal(ctx context.Context) error {
	w, err := c.work(ctx)
	if err != nil {
		return err
	}
	var g goalStatus
	if !w.Latest().Field(keyGoal, &g) || !g.Active {
		return nil
	}
	if err := c.Interrupt(ctx); err != nil {
		return err
	}
	if err := c.Wait(ctx); err != nil {
		return err
	}
	return c.withWorker(ctx, func(w *worker) error { return c.endGoal(ctx, w, goalInterrupted) })
}

// endGoal records how an active goal ended, unless that is recorded already.
func (c *Conversation) endGoal(ctx context.Context, w *worker, status string) error {
	var g goalStatus
	if !w.State().Field(keyGoal, &g) || !g.Active {
		return nil
	}
	g.Active, g.Status = false, status
	return w.Update(ctx, keyGoal, g)
}

func (c *Conversation) pursue(ctx context.Context, g goalStatus, prompt string) error {
	msg := event.NewUserMessage(prompt)
	tried := false
	return c.withWorker(ctx, func(w *worker) error {
		if w.Busy() {
			return ErrRunning
		}
		if c.m.full() {
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
		err := c.drive(ctx, w, func(o controller.RunOptions) (func(context.Context) error, error) {
			o.Judge = func(ctx context.Context) bool { return c.round(ctx, w) }
			return w.Start(ctx, o)
		})
		if err != nil && !errors.Is(err, controller.ErrClosed) {
			err = errors.Join(err, c.endGoal(context.WithoutCancel(ctx), w, goalInterrupted))
		}
		return err
	})
}

// round judges what a run has come to, and reports whether another follows.
func (c *Conversation) round(ctx context.Context, w *worker) bool {
	again, err := c.judge(ctx, w)
	if err != nil {
		c.m.o.Log.Warn("a goal ended early", "conversation", c.id, "err", err)
		if err := c.endGoal(context.WithoutCancel(ctx), w, goalInterrupted); err != nil {
			c.m.o.Log.Error("record the end of a goal", "conversation", c.id, "err", err)
		}
	}
	return again
}

// judgements is how often the judge is asked for one round: a call that fails
// does not count as a round.
const judgements = 2

func (c *Conversation) judge(ctx context.Context, w *worker) (again bool, err error) {
	s := w.State()
	var g goalStatus
	if !s.Field(keyGoal, &g) || !g.Active {
		return false, nil
	}
	if s.Status != state.Finished {
		return false, c.endGoal(ctx, w, goalInterrupted)
	}
	var v verdict
	for range judgements {
		if v, err = c.askJudge(ctx, w, g, s); err == nil {
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
		g.Active, g.Status = false, goalComplete
	case g.Iteration >= g.MaxIterations:
		g.Active, g.Status = false, goalCapped
	}
	if err := w.Update(ctx, keyGoal, g); err != nil {
		return false, err
	}
	if !g.Active {
		return false, nil
	}
	return true, w.Send(ctx, event.NewUserMessage(goOn(g)))
}

func goOn(g goalStatus) string {
	text := "The objective is not reached yet: " + g.Objective
	if g.Verdict != nil && g.Verdict.Missing != "" {
		text += "\n\nStill missing: " + g.Verdict.Missing
	}
	return text + "\n\nGo on until all of it is reached, and check your work."
}

func (c *Conversation) askJudge(ctx context.Context, w *worker, g goalStatus, s *state.State) (verdict, error) {
	m, done := w.Service(agent.UsageAgent)
	v, _, err := structured.Ask[verdict](ctx, m, llm.Request{
		Session: string(c.id), Schema: verdictSchema, Messages: []event.Message{
			{Role: event.RoleSystem, Content: []event.Content{event.Text(judgeSystem)}},
			{Role: event.RoleUser, Content: []event.Content{event.Text(
				"OBJECTIVE\n" + g.Objective + "\n\nWHAT WAS DONE\n" + evidence(s))}},
		},
	})
	return v, errors.Join(err, done(context.WithoutCancel(ctx)))
}

// evidence is the end of the conversation as text.
func evidence(s *state.State) string {
	var parts []string
	size := 0
	for i := len(s.View) - 1; i >= 0 && size < maxEvidence; i-- {
		text := ""
		switch e := s.View[i].(type) {
		case *event.MessageEvent:
			text = string(e.Source) + ": " + event.JoinText(e.LLMMessage.Content)
		case *event.ActionEvent:
			text = "call: " + e.ToolName + " " + e.ToolCall.Arguments
		case *event.ObservationEvent:
			text = "result: " + event.JoinText(e.Observation.Result().Content)
		case *event.AgentErrorEvent:
			text = "error: " + e.Error
		default:
			continue
		}
		if r := []rune(text); len(r) > 4000 {
			text = string(r[:2000]) + "\n…\n" + string(r[len(r)-2000:])
		}
		size += len(text)
		parts = append(parts, text)
	}
	for i, j := 0, len(parts)-1; i < j; i, j = i+1, j-1 {
		parts[i], parts[j] = parts[j], parts[i]
	}
	return strings.Join(parts, "\n\n")
}
