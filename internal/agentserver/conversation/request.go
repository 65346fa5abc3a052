package conversation

import (
	"encoding/json"
	"path/filepath"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/spec"
)

// StartRequest asks for a conversation (docs/openhands/sdk-wire.md section 5.1
// and docs/openhands/sdk-wire-1.58.md section B.2).
type StartRequest struct {
	Workspace            *Workspace                 `json:"workspace"`
	Worktree             bool                       `json:"worktree"`
	WorktreeOptions      *WorktreeOptions           `json:"worktree_options"`
	ConversationID       string                     `json:"conversation_id"`
	ParentConversationID string                     `json:"parent_conversation_id"`
	ConfirmationPolicy   json.RawMessage            `json:"confirmation_policy"`
	SecurityAnalyzer     json.RawMessage            `json:"security_analyzer"`
	InitialMessage       *Message                   `json:"initial_message"`
	MaxIterations        *int                       `json:"max_iterations"`
	StuckDetection       *bool                      `json:"stuck_detection"`
	Secrets              map[string]json.RawMessage `json:"secrets"`
	SecretsEncrypted     bool                       `json:"secrets_encrypted"`
	ToolModules          map[string]string          `json:"tool_module_qualnames"`
	ClientTools          []json.RawMessage          `json:"client_tools"`
	LaunchAdditions      json.RawMessage            `json:"agent_launch_additions"`
	HookConfig           json.RawMessage            `json:"hook_config"`
	Tags                 map[string]string          `json:"tags"`
	UserID               string                     `json:"user_id"`
	Autotitle            *bool                      `json:"autotitle"`
	TitleProfile         string                     `json:"title_llm_profile"`
	Prompt               *string                    `json:"prompt"`
	ConversationRuntime  *string                    `json:"conversation_runtime"`
	Agent                json.RawMessage            `json:"agent"`
	AgentSettings        json.RawMessage            `json:"agent_settings"`
	AgentProfileID       *string                    `json:"agent_profile_id"`
}

// Workspace is the place where a conversation works. Clients may leave out its
// kind: that of TypeScript sends {"type": "local"}.
type Workspace struct {
	WorkingDir string `json:"working_dir"`
	Kind       string `json:"kind"`
}

// WorktreeOptions say what the worktree of a conversation starts from.
type WorktreeOptions struct {
	Base         string  `json:"base"` // default_branch, which "" is too, head or ref
	Ref          *string `json:"ref"`
	BranchPrefix *string `json:"branch_prefix"`
}

// Launch is what a request was resolved to.
type Launch struct {
	Agent *spec.Agent
	// Profile describes the agent profile it came from; nil for none.
	Profile json.RawMessage
	// SecretRefs are the names of secrets that the profile allows; nil for
	// all.
	SecretRefs []string
}

// check says what is wrong with a request beside its form, and brings its ids
// to the form with dashes.
func (r *StartRequest) check() error {
	var v schema.Violations
	v = append(v, plainID(&r.ConversationID, "conversation_id")...)
	v = append(v, plainID(&r.ParentConversationID, "parent_conversation_id")...)
	if r.AgentProfileID != nil {
		v = append(v, plainID(r.AgentProfileID, "agent_profile_id")...)
	}
	if r.ConversationRuntime != nil && *r.ConversationRuntime != "local" {
		v = append(v, schema.Invalid("This server only runs local conversations", *r.ConversationRuntime, "body", "conversation_runtime")...)
	}
	if r.InitialMessage != nil {
		v = append(v, r.InitialMessage.check("body", "initial_message")...)
	}
	if r.Workspace == nil { // in a request made in code
		v = append(v, schema.Missing("body", "workspace")...)
	}
	if len(v) > 0 {
		return v
	}
	r.Workspace.Kind = "LocalWorkspace"
	return nil
}

// plainID brings an id of a body, unless it is "", to the form with dashes.
func plainID(id *string, field string) schema.Violations {
	if *id == "" {
		return nil
	}
	hex, wrong := schema.ParseUUID(*id, "body", field)
	if wrong == nil {
		plain, _ := event.ParseConversationID(hex) // 32 digits
		*id = string(plain)
	}
	return wrong
}

// dir is the workspace's directory, absolute.
func (w Workspace) dir() (string, error) {
	return filepath.Abs(w.WorkingDir)
}
