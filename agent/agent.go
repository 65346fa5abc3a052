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

// Agent proposes events. It does no I/O but LLM calls.
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

// Turn is the input of an Agent for one step.
type Turn struct {
	State *state.State
	// LLM returns the model of a service (UsageAgent …).
	LLM func(usage string) llm.Model
	// Delta takes pieces of the answer as they arrive; item is the id that
	// the finished event will have. An empty one says that the answer is
	// complete. Never nil.
	Delta func(item event.ID, d llm.Delta)
	// Session is the conversation, for caches and traces.
	Session event.ConversationID
}
