// Package agent defines the interface of agents: an Agent reads the State and
// proposes the next step. agent/codeact is the built-in agent.
//
// # Usage
//
//	evs, err := a.Step(ctx, agent.Turn{State: c.State(), LLM: models, Delta: show})
//
// The controller appends the events that Step returns, runs their actions and
// calls Step again.
//
// # Concurrency
//
// An Agent serves one conversation and is called by one goroutine at a time.
//
// # Failure
//
// An error of Step ends the run: an LLM call that failed for good (*llm.Error
// in its chain), or fault.Context when the conversation does not fit the model
// and cannot be shortened. Mistakes of the model are answered with events
// instead.
package agent

import (
	"context"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/state"
	"github.com/deft-dev/deft/tool"
)

// Usage ids of the services that an agent calls, under which their cost is
// counted.
const (
	UsageAgent     = "agent"
	UsageCondenser = "condenser"
)

// AsksAgain is the sender of messages with which an agent asks the model again, after an
// answer of no use.
const AsksAgain = "answer-check"

// Agent proposes events. It does no I/O but LLM calls, unless it is [Acting].
type Agent interface {
	// Open returns the events that stand before the first message of a
	// conversation.
	Open() ([]event.Event, error)
	// Step returns the next events of this state: a reply, actions, a condensation.
	// The caller sets parents and timestamps.
	Step(ctx context.Context, t Turn) ([]event.Event, error)
	// Tools returns the tools that the agent uses.
	Tools() *tool.Set
}

// Updatable is an agent whose tools can be replaced while it works. The next step has the
// new ones. SetTools may be called from any goroutine.
type Updatable interface {
	SetTools(*tool.Set) error
}

// Reopener is an agent whose system prompt may have to take the place of the one that a
// conversation has: it was made for an agent of another kind.
type Reopener interface {
	Reopens(*event.SystemPromptEvent) bool
}

// Acting is an agent that drives another program: a step has effects of its own, so none begins
// before everything that it builds on is stored.
type Acting interface {
	// Acts reports whether a step has effects.
	Acts() bool
}

// Acts reports whether the steps of an agent have effects, see [Acting].
func Acts(a Agent) bool {
	acting, ok := a.(Acting)
	return ok && acting.Acts()
}

// Spending is the cost of a step beside the calls of its models: by another program.
type Spending struct {
	Info     llm.Info
	Response llm.Response // without a message
}

// Failure is an error of the program that an agent drives, as clients are told of it.
type Failure struct {
	Code, Kind, Action string // see event.ErrorClassification
	Retryable          bool
	Err                error
}

// Error implements error.
func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }

// Turn is the input of an Agent for one step.
type Turn struct {
	State *state.State
	// LLM returns the model of a service (UsageAgent …).
	LLM func(usage string) llm.Model
	// Delta takes pieces of the answer as they arrive; item is the id that
	// the finished event will have. An empty one says that the answer is
	// complete. Never nil.
	Delta func(item event.ID, d llm.Delta)
	// Emit stores events while the step goes on: of an agent that acts. Never nil.
	Emit func(evs ...event.Event) error
	// Spend counts costs beside LLM. Never nil.
	Spend func(Spending)
	// Uncondensed tells of the error of a condenser without which the step goes on: nothing was left
	// out. Nil to ignore it.
	Uncondensed func(error)
	// MaxCost is the limit on the conversation's cost, in US dollars; 0 for none. Models keep it
	// themselves.
	MaxCost float64
	// Session is the conversation, for caches and traces.
	Session event.ConversationID
}
