package conversation

import (
	"context"
	"encoding/json"
	"time"

	"github.com/deft-dev/deft/agent"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/memory"
	"github.com/deft-dev/deft/runtime"
	"github.com/deft-dev/deft/skill"
	"github.com/deft-dev/deft/spec"
	"github.com/deft-dev/deft/state"
)

// Needs say what a conversation needs to work.
type Needs struct {
	ID        event.ConversationID
	Workspace string
	Agent     *spec.Agent
	Prompt    Prompt
	Condenser memory.Condenser // nil where the agent has none
	// Info describes the agent's model.
	Info        llm.Info
	ClientTools []json.RawMessage
	// Skills are those that the agent may ask for, and Invoked is told which
	// it did.
	Skills  []skill.Skill
	Invoked func(name string)
	// Tasks returns the task tracker's list as the conversation has it.
	Tasks func() []event.TaskItem
	// SwitchLLM is what the switch_llm tool does; it returns the model's name.
	SwitchLLM func(ctx context.Context, profile string) (model string, err error)
	// Secret returns the value of a secret, for the configuration of MCP
	// servers.
	Secret func(ctx context.Context, name string) (value string, ok bool)
}

// Prompt is what an agent is told besides its fixed prompt.
type Prompt struct {
	Persona string            // in place of its own; "" for that
	Suffix  string            // behind everything else
	Secrets map[string]string // names that commands may use, with descriptions
	Now     time.Time         // zero for an agent that is not told the time
}

// Agent is an agent that can be asked about its conversation too.
type Agent interface {
	agent.Agent
	// Ask answers a question about a state without becoming part of it.
	Ask(ctx context.Context, m llm.Model, s *state.State, id event.ConversationID, question string) (string, error)
}

// Outfit is what a conversation works with.
type Outfit struct {
	Agent   Agent
	Runtime runtime.Runtime
	Local   runtime.Runtime
	// Warnings are told to the user: parts that are not there.
	Warnings []string
	// Warm gets ready what the first actions will need; nil for nothing. It is
	// called when a run begins, while the model thinks, and again with each.
	Warm func(ctx context.Context) error
	// Close ends what the outfit runs.
	Close func(ctx context.Context) error
}
