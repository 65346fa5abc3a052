package memory

import (
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/state"
)

// Turn is the input of a condenser.
type Turn struct {
	// State has the view as Show returns it.
	State *state.State
	// Tokens measures the view; nil to ignore its size in tokens.
	Tokens *Gauge
	// Window is the context window of the agent's model, in tokens; 0 if
	// unknown.
	Window int
	// LLM returns the model of a service, such as [Service].
	LLM func(service string) llm.Model
	// Session is the conversation, for caches and traces.
	Session event.ConversationID
	// Failed gets the error of a model where the conversation goes on without Condense; nil to
	// ignore it.
	Failed func(error)
}

// goOn tells of an error without which nothing is condensed.
func (t Turn) goOn(err error) {
	if t.Failed != nil {
		t.Failed(err)
	}
}
