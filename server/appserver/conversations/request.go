package conversations

import (
	"encoding/json"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/security"
	"github.com/deft-dev/deft/server/appserver/store"
	"github.com/deft-dev/deft/session"
)

// Start is the part of a start request that its start task shows again: nothing in it is
// secret. Fields that are empty are chosen here.
type Start struct {
	SandboxID      string           `json:"sandbox_id,omitempty"`
	ConversationID string           `json:"conversation_id,omitempty"`
	InitialMessage *session.Message `json:"initial_message,omitempty"`
	Suffix         string           `json:"system_message_suffix,omitempty"`
	Model          string           `json:"llm_model,omitempty"`
	AgentProfileID string           `json:"agent_profile_id,omitempty"`
	Repository     string           `json:"selected_repository,omitempty"`
	Branch         string           `json:"selected_branch,omitempty"`
	Provider       string           `json:"git_provider,omitempty"`
	Title          string           `json:"title,omitempty"`
	Trigger        string           `json:"trigger,omitempty"`
	PRNumbers      []int            `json:"pr_number,omitempty"`
	ParentID       string           `json:"parent_conversation_id,omitempty"`
	AgentType      string           `json:"agent_type,omitempty"`
	Public         bool             `json:"public,omitempty"`
	Plugins        []Plugin         `json:"plugins,omitempty"`
	// Directory is a directory of this machine, or one of it if Worktree is set: a new Git
	// worktree of its repository.
	Directory string `json:"directory,omitempty"`
	Worktree  bool   `json:"worktree,omitempty"`
	// Confirm says which actions wait for the user; "" leaves it to the settings.
	Confirm security.Preset `json:"confirm,omitempty"`
	// MaxIterations and MaxCost, in US dollars, replace the limits of the settings; a cost of 0
	// is no limit.
	MaxIterations *int     `json:"max_iterations,omitempty"`
	MaxCost       *float64 `json:"max_budget_per_task,omitempty"`
	// Network is what commands reach; "" leaves it to the server.
	Network sandbox.Network `json:"network,omitempty"`
}

// StartRequest says which conversation to start (the contract's
// AppConversationStartRequest).
type StartRequest struct {
	Start
	Secrets map[string]json.RawMessage `json:"secrets,omitempty"`
	// Processors process event callbacks (package callback).
	Processors []json.RawMessage `json:"processors,omitempty"`
	// MCP are MCP servers by name (spec.MCPServers), which replace the servers of the settings;
	// nil keeps them.
	MCP *schema.Map `json:"mcp_config,omitempty"`
	// Recorded is replayed in the conversation instead of asking a model, until it is through;
	// nil for nothing. There is no InitialMessage with it.
	Recorded []event.Event `json:"-"`
}

// storedStart is a start request as its task keeps it, with the server's decisions. No
// client can set these: its requests have another type.
type storedStart struct {
	StartRequest
	// CallbackIDs are the ids of the callbacks, one for each processor.
	CallbackIDs []event.ConversationID `json:"callback_ids,omitempty"`
	// Replays says that a file has the request's Recorded.
	Replays bool `json:"replays,omitempty"`
	// Cells says that the recording has cells of Python, whose tool is in no preset.
	Cells bool `json:"cells,omitempty"`
	// Warm says that the conversation has claimed the sandbox of its id.
	Warm bool `json:"warm,omitempty"`
}

func stored(t store.Task) (s storedStart, err error) {
	if err := json.Unmarshal(t.Request, &s); err != nil {
		return s, fault.Wrap(err, fault.Corrupt, "read the request of a start task")
	}
	return s, nil
}

// ShownStart is a start request as its task shows it: without the values of secrets.
type ShownStart struct {
	Start
	Processors []ShownProcessor  `json:"processors,omitempty"`
	Secrets    map[string]string `json:"secrets,omitempty"`
}

// ShownProcessor names the processor of an event callback.
type ShownProcessor struct {
	Kind string `json:"kind"`
}

// Shown returns the request of a start task without its secrets.
func Shown(t store.Task) (ShownStart, error) {
	s, err := stored(t)
	out := ShownStart{Start: s.Start}
	for _, p := range s.Processors {
		out.Processors = append(out.Processors, ShownProcessor{Kind: ProcessorKind(p)})
	}
	for name := range s.Secrets {
		if out.Secrets == nil {
			out.Secrets = map[string]string{}
		}
		out.Secrets[name] = schema.Mask
	}
	return out, err
}
