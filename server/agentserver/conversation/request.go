package conversation

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/plugin"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/security"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/settings"
	"github.com/deft-dev/deft/settings/launch"
	"github.com/deft-dev/deft/spec"
	"github.com/deft-dev/deft/subagent"
)

// StartRequest is the body of POST /api/conversations
// (docs/openhands/sdk-wire.md section 5.1 and docs/openhands/sdk-wire-1.58.md
// section B.2).
type StartRequest struct {
	session.Setup
	// ConfirmPreset, unless empty, is set in the place of the policy and the analyzer.
	ConfirmPreset security.Preset `json:"confirm"`
	// SetUp runs the project's scripts for its set-up before the first message.
	SetUp                bool                       `json:"set_up"`
	Tags                 map[string]string          `json:"tags"`
	Worktree             bool                       `json:"worktree"`
	WorktreeOptions      *session.WorktreeOptions   `json:"worktree_options"`
	ConversationID       string                     `json:"conversation_id"`
	ParentConversationID string                     `json:"parent_conversation_id"`
	InitialMessage       *session.Message           `json:"initial_message"`
	Secrets              map[string]json.RawMessage `json:"secrets"`
	// SecretsEncrypted says that the client got secrets sealed from the server, and
	// sends them back so: in the agent, its settings or Secrets. Without it, a value
	// that looks sealed is a value.
	SecretsEncrypted    bool              `json:"secrets_encrypted"`
	LaunchAdditions     LaunchAdditions   `json:"agent_launch_additions"`
	ConversationRuntime *string           `json:"conversation_runtime"`
	Agent               *schema.Map       `json:"agent"`
	AgentSettings       *schema.Map       `json:"agent_settings"`
	AgentProfileID      string            `json:"agent_profile_id"`
	Plugins             []plugin.Source   `json:"plugins"`
	AgentDefinitions    []json.RawMessage `json:"agent_definitions"`
}

// LaunchAdditions are a launch's additions to an agent
// (docs/openhands/sdk-wire-1.58.md section B.2).
type LaunchAdditions struct {
	Suffix     string        `json:"system_message_suffix_append"`
	LLMProfile string        `json:"llm_profile_ref"`
	Skills     []*schema.Map `json:"skills"`
}

// NewStartRequest returns a request with the defaults of missing fields.
func NewStartRequest() *StartRequest { return &StartRequest{Setup: session.DefaultSetup()} }

// check describes the mistakes of a request beside its form and v.
func (r *StartRequest) check(v schema.Violations) error {
	if r.InitialMessage != nil {
		v = append(v, checkMessage(r.InitialMessage, "body", "initial_message")...)
	}
	if r.Workspace.WorkingDir == "" { // in a request made in code
		v = append(v, schema.Missing("body", "workspace")...)
	}
	if len(v) > 0 {
		return v
	}
	return nil
}

// Start makes the conversation that a request asks for; see
// [session.Manager.Create].
func (s *Service) Start(ctx context.Context, r *StartRequest) (c *session.Conversation, made bool, err error) {
	placement, wrong := s.placement(r.ConversationRuntime)
	if err := r.check(wrong); err != nil {
		return nil, false, err
	}
	id, _ := event.ParseConversationID(r.ConversationID) // checked
	if id != "" {
		c, err := s.o.Sessions.Get(ctx, id)
		if !fault.Is(err, fault.NotFound) {
			return c, false, err
		}
	}
	parent, _ := event.ParseConversationID(r.ParentConversationID) // checked
	if r.ConfirmPreset != "" {
		r.Confirm(r.ConfirmPreset)
	}
	out := session.Spec{
		ID: id, Parent: parent, Owner: identity.LocalTenant, Setup: r.Setup, Placement: placement, Tags: r.Tags, Secrets: r.Secrets, SecretsSealed: r.SecretsEncrypted, Message: r.InitialMessage, SetUp: r.SetUp,
	}
	if r.Worktree {
		out.Worktree = &session.WorktreeOptions{}
		if r.WorktreeOptions != nil {
			out.Worktree = r.WorktreeOptions
		}
	}
	if out.Message != nil && s.o.Sessions.AtCapacity() {
		return nil, false, session.ErrCapacity
	}
	l, err := s.launch(ctx, r)
	if err != nil {
		return nil, false, err
	}
	for _, raw := range r.ClientTools {
		if err := s.o.CheckClientTool(raw); err != nil {
			return nil, false, err
		}
	}
	out.Agent, out.Profile, out.SecretRefs = l.Agent, l.Profile, l.SecretRefs
	if out.Agents, err = r.subAgents(l.Agent); err != nil {
		return nil, false, err
	}
	if err := s.addPlugins(ctx, r.Plugins, &out); err != nil {
		return nil, false, err
	}
	out.ToolModules = toolModules(l.Agent, r.ToolModules)
	return s.o.Sessions.Create(ctx, out)
}

// launch makes the agent of a request: an agent as it is, settings, or a profile.
func (s *Service) launch(ctx context.Context, r *StartRequest) (*settings.Launched, error) {
	add := r.LaunchAdditions
	profile, _ := event.ParseConversationID(r.AgentProfileID) // a UUID, too; with dashes
	src := launch.Source{Agent: r.Agent, Settings: r.AgentSettings, ProfileID: string(profile), LLMProfile: add.LLMProfile}
	if r.SecretsEncrypted {
		src.Keys = s.o.Sealed
	}
	if add.LLMProfile != "" && src.ProfileID == "" {
		return nil, schema.Invalid("llm_profile_ref needs an agent_profile_id", add.LLMProfile, "body", "agent_launch_additions")
	}
	rt := launch.Runtime{Skills: add.Skills, Preset: spec.Preset{NoBrowser: s.o.NoBrowser}}
	if strings.TrimSpace(add.Suffix) != "" {
		rt.Suffixes = []string{add.Suffix}
	}
	return s.o.Settings.Launch(ctx, src, rt)
}

// pythonModules are the tools whose Python module of the reference is the path
// of their name (docs/openhands/sdk-wire-1.58.md section B.3).
var pythonModules = []string{
	"terminal", "file_editor", "task_tracker", "glob", "grep", "planning_file_editor", "apply_patch", "task",
}

// geminiModules are the tools whose module is in the package of Gemini's.
var geminiModules = []string{"read_file", "write_file", "edit", "list_directory"}

// toolModules adds the reference's Python modules of an agent's tools to a request's own.
func toolModules(a *spec.Agent, asked map[string]string) map[string]string {
	out := map[string]string{}
	maps.Copy(out, asked)
	for _, t := range a.Tools {
		module := strings.TrimSuffix(t.Name, "_tool_set")
		if slices.Contains(geminiModules, t.Name) {
			out[t.Name] = "openhands.tools.gemini." + t.Name + ".definition"
		}
		if slices.Contains(pythonModules, module) && (module == t.Name || t.Name == spec.SubAgentsTool) {
			out[t.Name] = "openhands.tools." + module + ".definition"
		}
	}
	return out
}

// addPlugins adds plugins to the agent of a new conversation: first the plugins that the marketplaces of the
// agent's context load by themselves, then the plugins of the request. Agents that the request describes stay.
func (s *Service) addPlugins(ctx context.Context, sources []plugin.Source, out *session.Spec) error {
	if c := out.Agent.Context; c != nil && len(c.RegisteredMarketplaces) > 0 {
		if err := s.addForEach(ctx, c.RegisteredMarketplaces, out); err != nil {
			return located(err, "agent", "agent_context", "registered_marketplaces")
		}
	}
	loaded, err := s.o.Plugins.Load(ctx, sources)
	if err == nil {
		err = out.AddPlugins(loaded)
	}
	return located(err, "plugins")
}

func (s *Service) addForEach(ctx context.Context, registered []json.RawMessage, out *session.Spec) error {
	all, err := plugin.ReadRegistrations(registered)
	if err != nil {
		return err
	}
	each, err := s.o.Plugins.ForEach(ctx, all)
	if err != nil {
		return err
	}
	if out.Agent, err = plugin.AddSkills(out.Agent, each.Skills); err != nil {
		return err
	}
	out.Warnings = append(out.Warnings, each.Warnings...)
	loaded, err := s.o.Plugins.Load(ctx, each.Plugins)
	if err != nil {
		return err
	}
	return out.AddPlugins(loaded)
}

// subAgents are the agents that the request describes, to which its agent can give tasks.
// Clients send them with every conversation; they matter to an agent that can.
func (r *StartRequest) subAgents(a *spec.Agent) (all []subagent.Definition, err error) {
	if !slices.ContainsFunc(a.Tools, func(t spec.Tool) bool { return spec.GivesTasks(t.Name) }) {
		return nil, nil
	}
	for i, raw := range r.AgentDefinitions {
		d, err := subagent.Decode(raw)
		if err != nil {
			return nil, located(err, "agent_definitions", i)
		}
		all = append(all, d)
	}
	return all, nil
}

// located makes a violation of an error about a part of the body.
func located(err error, loc ...any) error {
	var v schema.Violations
	if fault.Is(err, fault.Invalid) && !errors.As(err, &v) {
		return schema.Invalid(err.Error(), nil, append([]any{"body"}, loc...)...)
	}
	return err
}
