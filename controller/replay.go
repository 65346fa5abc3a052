package controller

import (
	"context"
	"fmt"

	"github.com/deft-dev/deft/agent"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/state"
	"github.com/deft-dev/deft/tool"
)

// Replay is a recorded trajectory that can be run again: its user messages
// are sent, its actions are done anew by real tools, without an LLM.
//
// A Replay is the Agent of the conversation that it runs in until it is
// through; it counts the recorded answers that the conversation already has,
// so a replay that was killed goes on where it was.
type Replay struct {
	tools *tool.Set
	open  func() ([]event.Event, error)
	turns []recorded
}

// recorded is a user message and the answers that followed it.
type recorded struct {
	message *event.MessageEvent
	answers [][]event.Event
}

// NewReplay reads the active branch of a trajectory. Its agent has the tools and
// the opening of a, which can continue the conversation afterwards. Invalid for a
// trajectory without a user message.
func NewReplay(trajectory []event.Event, a agent.Agent) (*Replay, error) {
	turns, err := turnsOf(trajectory)
	if err != nil {
		return nil, err
	}
	return &Replay{tools: a.Tools(), open: a.Open, turns: turns}, nil
}

// CheckReplay returns the error that NewReplay has for a trajectory.
func CheckReplay(trajectory []event.Event) error {
	_, err := turnsOf(trajectory)
	return err
}

func turnsOf(trajectory []event.Event) (turns []recorded, err error) {
	branch, err := activeBranch(trajectory)
	if err != nil {
		return nil, err
	}
	response := ""
	for _, ev := range branch {
		m, isMessage := ev.(*event.MessageEvent)
		if isMessage && m.Source == event.SourceUser {
			turns = append(turns, recorded{message: m})
			response = ""
			continue
		}
		if len(turns) == 0 {
			continue
		}
		t := &turns[len(turns)-1]
		switch e := ev.(type) {
		case *event.MessageEvent:
			if e.Source == event.SourceAgent {
				t.answers, response = append(t.answers, []event.Event{e}), ""
			}
		case *event.ActionEvent:
			if e.Action == nil {
				continue // was never run
			}
			if n := len(t.answers); n > 0 && response != "" && e.LLMResponseID == response {
				t.answers[n-1] = append(t.answers[n-1], e)
			} else {
				t.answers = append(t.answers, []event.Event{e})
			}
			response = e.LLMResponseID
		case *event.ObservationEvent, *event.AgentErrorEvent, *event.UserRejectObservation:
			response = "" // some servers give each answer the same id
		}
	}
	if len(turns) == 0 {
		return nil, fault.New(fault.Invalid, "the trajectory has no user message to replay")
	}
	return turns, nil
}

// activeBranch returns the events on the path to HEAD, in order.
func activeBranch(trajectory []event.Event) ([]event.Event, error) {
	f := state.NewFold(func(seq int64) (event.Event, error) { return trajectory[seq-1], nil })
	for i, ev := range trajectory {
		if err := f.Apply(int64(i+1), ev); err != nil {
			return nil, fmt.Errorf("fold trajectory: %w", err)
		}
	}
	runs, err := f.Runs("")
	if err != nil {
		return nil, err
	}
	var branch []event.Event
	for _, r := range runs {
		for seq := r.First; seq <= r.Last; seq++ {
			branch = append(branch, trajectory[seq-1])
		}
	}
	return branch, nil
}

// Tools implements [agent.Agent].
func (p *Replay) Tools() *tool.Set { return p.tools }

// Open implements [agent.Agent].
func (p *Replay) Open() ([]event.Event, error) { return p.open() }

// Step implements [agent.Agent]: the next recorded answer, under new ids.
func (p *Replay) Step(_ context.Context, t agent.Turn) ([]event.Event, error) {
	turn, done := position(t.State.View)
	if turn < 0 || turn >= len(p.turns) || done >= len(p.turns[turn].answers) {
		end := &event.MessageEvent{Base: event.NewBase(event.SourceAgent)}
		end.LLMMessage = event.Message{Role: event.RoleAssistant, Content: event.Texts("The recorded part of this conversation ends here.")}
		return []event.Event{end}, nil
	}
	var evs []event.Event
	response := string(event.NewID())
	for _, ev := range p.turns[turn].answers[done] {
		ev = renewed(ev, response)
		if a, ok := ev.(*event.ActionEvent); ok {
			if err := p.ownKind(a); err != nil {
				return nil, err
			}
		}
		evs = append(evs, ev)
	}
	return evs, nil
}

// position returns how many user messages a view has, less one, and how many
// answers follow the last.
func position(view []event.Event) (turn, done int) {
	turn = -1
	response := ""
	for _, ev := range view {
		switch e := ev.(type) {
		case *event.MessageEvent:
			switch {
			case e.Source == event.SourceUser:
				turn, done, response = turn+1, 0, ""
			case e.Source == event.SourceAgent:
				done, response = done+1, ""
			}
		case *event.ActionEvent:
			if e.LLMResponseID != response {
				done, response = done+1, e.LLMResponseID
			}
		}
	}
	return turn, done
}

// renewed copies a recorded event under a new id, so that the runtime does it
// again.
func renewed(ev event.Event, response string) event.Event {
	switch e := ev.(type) {
	case *event.ActionEvent:
		c := *e
		c.Base = event.NewBase(event.SourceAgent)
		c.LLMResponseID = response
		return &c
	case *event.MessageEvent:
		c := *e
		c.Base = event.NewBase(e.Source)
		return &c
	}
	return ev
}

// ownKind gives an action its own kind again, where the trajectory is from a client of
// OpenHands ([event.WithoutOwnKinds]) and the tool's actions are of another kind here.
func (p *Replay) ownKind(e *event.ActionEvent) error {
	a, ok := e.Action.(*event.MCPToolAction)
	d := p.tools.Get(e.ToolName)
	if !ok || d == nil || d.ActionKind == a.Kind() {
		return nil
	}
	own, err := d.Decode(a.Data)
	if err != nil {
		return fault.Wrap(err, fault.Invalid, "the recorded call of "+e.ToolName)
	}
	e.Action = own
	return nil
}

// Next sends the next recorded user message that the conversation does not have
// yet, and reports whether there was one. Run then replays the steps after it.
func (p *Replay) Next(ctx context.Context, c *Controller) (bool, error) {
	turn, _ := position(c.State().View)
	if turn+1 >= len(p.turns) {
		return false, nil
	}
	return true, c.Send(ctx, renewed(p.turns[turn+1].message, "").(*event.MessageEvent))
}

// Run replays the whole trajectory in a conversation whose Agent is p. It
// stops early if a run does not finish; the State's status says why.
func (p *Replay) Run(ctx context.Context, c *Controller) error {
	for {
		if s := c.State().Status; s == state.Running {
			if err := c.Run(ctx); err != nil {
				return err
			}
		}
		if s := c.State().Status; s != state.Finished && s != state.Idle {
			return nil
		}
		more, err := p.Next(ctx, c)
		if err != nil || !more {
			return err
		}
		if err := c.Run(ctx); err != nil {
			return err
		}
	}
}
