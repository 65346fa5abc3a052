package memory

import (
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/state"
)

// Turn is what a condenser is asked about.
type Turn struct {
	State *state.State
	// Tokens measures the view; nil for nobody who counts.
	Tokens *Gauge
	// Window is what the agent's model takes, in tokens; 0 where it is not
	// known.
	Window int
	// LLM returns the model of a service, such as [Service].
	LLM func(service string) llm.Model
	// Session is the conversation, for caches and traces.
	Session event.ConversationID
}

// Service is the service whose model writes summaries.
const Service = "condenser"
