package conversation

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/agentserver/rest"
	"github.com/deft-dev/deft/internal/agentserver/settings/wireagent"
)

// StartRequest asks for a conversation (sdk-wire.md section 5.1 and
// sdk-wire-1.58.md section B.2).
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
	Tags                 tags                       `json:"tags"`
	UserID               string                     `json:"user_id"`
	Autotitle            *bool                      `json:"autotitle"`
	TitleProfile         string                     `json:"title_llm_profile"`
	Prompt               *string                    `json:"prompt"`
	ConversationRuntime  *string                    `json:"conversation_runtime"`
	Agent                json.RawMessage            `json:"agent"`
	AgentSettings        json.RawMessage            `json:"agent_settings"`
	AgentProfileID       *string                    `json:"agent_profile_id"`
}

// Workspace is the place where a conversation works.
type Workspace struct {
	WorkingDir string `json:"working_dir"`
	Kind       string `json:"kind"`
}

// UnmarshalJSON takes the form of the TypeScript client, {"type": "local"},
// and the working_dir as plain text too.
func (w *Workspace) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) == nil {
		*w = Workspace{WorkingDir: s, Kind: "LocalWorkspace"}
		return nil
	}
	var v struct {
		WorkingDir *string `json:"working_dir"`
		Kind       string  `json:"kind"`
	}
	if err := json.Unmarshal(b, &v); err != nil {
		return err
	}
	if v.WorkingDir == nil {
		return rest.Missing("body", "workspace", "working_dir")
	}
	if v.Kind != "" && v.Kind != "LocalWorkspace" {
		return rest.Invalid("a conversation of this server needs a LocalWorkspace", v.Kind, "body", "workspace", "kind")
	}
	*w = Workspace{WorkingDir: *v.WorkingDir, Kind: "LocalWorkspace"}
	return nil
}

// WorktreeOptions say what the worktree of a conversation starts from.
type WorktreeOptions struct {
	Base         string  `json:"base"` // default_branch, head or ref
	Ref          *string `json:"ref"`
	BranchPrefix *string `json:"branch_prefix"`
}

// Launch is what a request was resolved to.
type Launch struct {
	Agent *wireagent.Agent
	// Profile describes the agent profile it came from; nil for none.
	Profile json.RawMessage
	// SecretRefs are the names of secrets that the profile allows; nil for
	// all.
	SecretRefs []string
}

var (
	tagKey = regexp.MustCompile(`^[a-z0-9]+$`)
	refRE  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]*$`)
)

// check says what is wrong with a request in itself.
func (r *StartRequest) check() error {
	var v rest.Violations
	if r.Workspace == nil {
		v = append(v, rest.Missing("body", "workspace")...)
	} else if strings.ContainsRune(r.Workspace.WorkingDir, 0) || r.Workspace.WorkingDir == "" {
		v = append(v, rest.Invalid("working_dir is not a path", nil, "body", "workspace", "working_dir")...)
	}
	v = append(v, plainID(&r.ConversationID, "conversation_id")...)
	v = append(v, plainID(&r.ParentConversationID, "parent_conversation_id")...)
	if r.MaxIterations != nil && *r.MaxIterations < 1 {
		v = append(v, rest.Violation{
			Type: "greater_than_equal", Loc: []any{"body", "max_iterations"},
			Msg: "Input should be greater than or equal to 1", Input: *r.MaxIterations, Ctx: map[string]any{"ge": 1},
		})
	}
	if r.ConversationRuntime != nil && *r.ConversationRuntime != "local" {
		v = append(v, rest.Invalid("This server only runs local conversations", *r.ConversationRuntime, "body", "conversation_runtime")...)
	}
	if r.InitialMessage != nil {
		v = append(v, r.InitialMessage.check("body", "initial_message")...)
	}
	v = append(v, checkTags(r.Tags)...)
	v = append(v, r.WorktreeOptions.check()...)
	if r.Prompt != nil && len([]rune(*r.Prompt)) > 2000 {
		v = append(v, rest.Invalid("prompt is longer than 2000 characters", nil, "body", "prompt")...)
	}
	if len(v) > 0 {
		return v
	}
	return r.checkSource()
}

// checkSource holds that exactly one thing says what the agent is.
func (r *StartRequest) checkSource() error {
	given := func(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }
	profile := r.AgentProfileID != nil
	switch {
	case profile && (given(r.Agent) || given(r.AgentSettings)):
		return rest.Invalid("agent_profile_id cannot be combined with agent or agent_settings", nil, "body")
	case !profile && !given(r.Agent) && !given(r.AgentSettings):
		return rest.Invalid("one of agent, agent_settings or agent_profile_id is required", nil, "body")
	case profile:
		if v := plainID(r.AgentProfileID, "agent_profile_id"); v != nil {
			return v
		}
	}
	return nil
}

func (o *WorktreeOptions) check() rest.Violations {
	if o == nil {
		return nil
	}
	switch o.Base {
	case "":
		o.Base = "default_branch"
	case "default_branch", "head":
	case "ref":
		if o.Ref == nil {
			return rest.Invalid("base 'ref' needs a ref", nil, "body", "worktree_options")
		}
	default:
		return rest.Invalid("base must be default_branch, head or ref", o.Base, "body", "worktree_options", "base")
	}
	if o.Ref != nil && !refRE.MatchString(*o.Ref) {
		return rest.Invalid("ref is not a git reference", *o.Ref, "body", "worktree_options", "ref")
	}
	return nil
}

// tags are the user's own marks of a conversation.
type tags map[string]string

// UnmarshalJSON takes texts only.
func (t *tags) UnmarshalJSON(b []byte) error {
	var in map[string]*string
	if err := json.Unmarshal(b, &in); err != nil || in == nil {
		return err
	}
	*t = make(tags, len(in))
	for key, value := range in {
		if value == nil {
			return rest.Violations{{Type: "string_type", Loc: []any{"body", "tags", key}, Msg: "Input should be a valid string"}}
		}
		(*t)[key] = *value
	}
	return nil
}

func checkTags(tags map[string]string) (v rest.Violations) {
	for key, value := range tags {
		if !tagKey.MatchString(key) {
			v = append(v, rest.Invalid("Tag key '"+key+"' is invalid: keys must be lowercase alphanumeric only", nil, "body", "tags")...)
		}
		if len([]rune(value)) > 256 {
			v = append(v, rest.Invalid("Tag value for '"+key+"' exceeds 256 characters", nil, "body", "tags")...)
		}
	}
	return v
}

// plainID brings an id of a body, unless it is "", to the form with dashes.
func plainID(id *string, field string) rest.Violations {
	if *id == "" {
		return nil
	}
	hex, wrong := rest.ParseUUID(*id, "body", field)
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
