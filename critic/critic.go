// Package critic judges the work of an agent: critics give an answer a score, and may send the agent
// back to work (docs/critic.md).
//
// # Usage
//
//	c, err := critic.New(agent.Critic, clients)     // nil for an agent without one
//	if c.Judges(ev) {
//		r, err := c.Judge(ctx, critic.Case{View: append(view, ev), …})
//		message := c.FollowUp(r, iteration) // "" if the critic is content
//	}
//
// # Concurrency
//
// Critics are safe for concurrent use.
//
// # Failure
//
// A critic without an answer returns an error, and no score is made up. The text of an error has
// no keys.
package critic

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/spec"
	"github.com/deft-dev/deft/tool"
)

// Case is the work that is judged.
type Case struct {
	// View is the conversation as the agent's model has it; the judged event is the last.
	View []event.Event
	// Tools are the agent's.
	Tools []tool.Offer
	// Changed reports whether the workspace has changes.
	Changed func(ctx context.Context) (bool, error)
	// Mask hides secrets in a text; nil if there are none.
	Mask func(string) string
}

// Text is a text of the case without secrets.
func (c Case) Text(s string) string {
	if c.Mask == nil {
		return s
	}
	return c.Mask(s)
}

// Clients ask critics over a network.
type Clients interface {
	Judge(ctx context.Context, c *spec.Critic, about Case) (Result, error)
}

// Critic judges the answers of one agent.
type Critic struct {
	of    *spec.Critic
	judge func(ctx context.Context, about Case) (Result, error)
}

// judges are the kinds that need nothing but the case.
var judges = map[string]func(context.Context, Case) (Result, error){
	spec.PassCritic:          pass,
	spec.EmptyPatchCritic:    emptyPatch,
	spec.AgentFinishedCritic: agentFinished,
}

// New returns the critic that an agent describes, nil for none. Unsupported where an API critic has
// no clients.
func New(c *spec.Critic, clients Clients) (*Critic, error) {
	if c == nil {
		return nil, nil
	}
	out := &Critic{of: c, judge: judges[c.Kind]}
	switch {
	case out.judge != nil:
	case c.Kind != spec.APICritic:
		return nil, fault.New(fault.Invalid, "there is no critic of the kind "+c.Kind).Hint("there are " + strings.Join(spec.CriticKinds, ", "))
	case clients == nil:
		return nil, fault.New(fault.Unsupported, "this program has no client for critics over a network")
	default:
		out.judge = func(ctx context.Context, about Case) (Result, error) { return clients.Judge(ctx, c, about) }
	}
	return out, nil
}

// Judges reports whether an event of the agent is judged: its end and its messages, or in the mode
// for all actions every action.
func (c *Critic) Judges(ev event.Event) bool {
	if c == nil {
		return false
	}
	switch e := ev.(type) {
	case *event.MessageEvent:
		return e.Source == event.SourceAgent
	case *event.ActionEvent:
		return c.of.Mode == spec.AllActions || finishes(e)
	}
	return false
}

func finishes(e *event.ActionEvent) bool {
	_, is := e.Action.(*event.FinishAction)
	return is
}

// Judge returns the result for a case.
func (c *Critic) Judge(ctx context.Context, about Case) (Result, error) {
	r, err := c.judge(ctx, about)
	if err != nil {
		return Result{}, fmt.Errorf("the critic has not judged: %w", err)
	}
	return r, nil
}

// FollowUp returns the message with which the agent goes on after a result: "" if the critic is
// content, or the iteration, from 1, is beyond the limit.
func (c *Critic) FollowUp(r Result, iteration int) string {
	more := c.of.Refinement
	if more == nil || iteration > more.MaxIterations || r.Score >= more.SuccessThreshold && !c.issue(r) {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "A critic finds that the task is probably not done (try %d of %d, likelihood of success %.0f %%).\n", iteration, more.MaxIterations, 100*r.Score)
	if lines := r.lines(); len(lines) > 0 {
		b.WriteString("\n" + strings.Join(lines, "\n") + "\n")
	}
	b.WriteString("\nCompare the result with each requirement, find out what is missing or wrong, and complete the task.")
	return b.String()
}

// issue reports whether a result names a grave fault of the agent, whatever the score.
func (c *Critic) issue(r Result) bool {
	return c.of.Kind == spec.APICritic && r.Metadata != nil &&
		slices.ContainsFunc(r.Metadata.Features.AgentIssues, func(f Feature) bool { return f.Probability >= c.of.IssueThreshold })
}

func pass(context.Context, Case) (Result, error) { return Score(1, "Every result passes."), nil }

func emptyPatch(ctx context.Context, about Case) (Result, error) {
	changed, err := about.Changed(ctx)
	switch {
	case err != nil:
		return Result{}, err
	case !changed:
		return Score(0, "The workspace has no changes."), nil
	}
	return Score(1, "The workspace has changes."), nil
}

func agentFinished(ctx context.Context, about Case) (Result, error) {
	r, err := emptyPatch(ctx, about)
	if err != nil || r.Score == 0 {
		return r, err
	}
	for _, ev := range slices.Backward(about.View) {
		if a, ok := ev.(*event.ActionEvent); ok {
			if finishes(a) {
				return Score(1, "The agent has finished, and the workspace has changes."), nil
			}
			break
		}
	}
	return Score(0, "The agent has not called finish."), nil
}

// Score is a result with a message.
func Score(score float64, message string) Result { return Result{Score: score, Message: &message} }

// Read returns the result of an event; ok is false if there is none that can be read.
func Read(raw json.RawMessage) (r Result, ok bool) {
	return r, len(raw) > 0 && json.Unmarshal(raw, &r) == nil
}
