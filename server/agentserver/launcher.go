package agentserver

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/agentserver/conversation"
	"github.com/deft-dev/deft/server/agentserver/mcp"
	"github.com/deft-dev/deft/settings"
	"github.com/deft-dev/deft/settings/launch"
	"github.com/deft-dev/deft/spec"
)

// launcher implements [conversation.Launcher].
type launcher struct {
	settings *settings.Service
	ring     schema.Keys // opens sealed values; nil for none
	adapters Adapters
}

// Resolve implements [conversation.Launcher].
func (l launcher) Resolve(ctx context.Context, r *conversation.StartRequest) (*conversation.Launch, error) {
	add := r.LaunchAdditions
	profile, _ := event.ParseConversationID(r.AgentProfileID) // a UUID, too; with dashes
	src := launch.Source{Agent: r.Agent, Settings: r.AgentSettings, ProfileID: string(profile), LLMProfile: add.LLMProfile}
	if r.SecretsEncrypted {
		src.Keys = l.ring
	}
	if add.LLMProfile != "" && src.ProfileID == "" {
		return nil, schema.Invalid("llm_profile_ref needs an agent_profile_id", add.LLMProfile, "body", "agent_launch_additions")
	}
	var stores *launch.Stores
	if src.ProfileID != "" { // an agent and settings refer to nothing
		var err error
		if stores, err = l.settings.LaunchStores(); err != nil {
			return nil, err
		}
	}
	resolved, err := launch.Resolve(ctx, src, stores)
	if err != nil {
		return nil, err
	}
	a, err := launch.Finalize(resolved, launchRuntime(add))
	if err != nil {
		return nil, err
	}
	out := &conversation.Launch{Agent: a}
	if p := resolved.Profile; p != nil {
		out.SecretRefs = p.SecretRefs
		out.Profile, err = json.Marshal(p)
	}
	return out, err
}

// launchRuntime is the request's addition to a launch.
func launchRuntime(add conversation.LaunchAdditions) launch.Runtime {
	rt := launch.Runtime{Skills: add.Skills}
	if strings.TrimSpace(add.Suffix) != "" {
		rt.Suffixes = []string{add.Suffix}
	}
	return rt
}

// LLM implements [conversation.Launcher].
func (l launcher) LLM(ctx context.Context, doc any) (*spec.LLM, error) {
	m, err := spec.CheckLLM(doc, schema.Reading{Keys: l.ring}, "body", "llm")
	if err != nil {
		return nil, err
	}
	return m, m.Resolve(l.settings.Profiles.Connections.Find(ctx), "")
}

// UsableTool reports whether agents of this server can have a tool.
func UsableTool(name string) bool {
	return slices.Contains(mcp.UsableNames(mcp.Catalogue()), name)
}

// CheckClientTool implements [conversation.Launcher].
func (l launcher) CheckClientTool(raw json.RawMessage) error {
	name, err := l.adapters.CheckClientTool(raw)
	if err != nil {
		return err
	}
	if UsableTool(name) {
		return fault.New(fault.Invalid,
			"Client tool name '"+name+"' collides with an existing non-client tool. Choose a unique client tool name.")
	}
	return nil
}

// pythonModules are the tools whose Python module of the reference is the path
// of their name (docs/openhands/sdk-wire-1.58.md section B.3).
var pythonModules = []string{
	"terminal", "file_editor", "task_tracker", "glob", "grep", "planning_file_editor", "apply_patch", "task",
}

// ToolModules implements [conversation.Launcher].
func (l launcher) ToolModules(a *spec.Agent) map[string]string {
	out := map[string]string{}
	for _, t := range a.Tools {
		module := strings.TrimSuffix(t.Name, "_tool_set")
		if slices.Contains(pythonModules, module) && (module == t.Name || t.Name == spec.SubAgentsTool) {
			out[t.Name] = "openhands.tools." + module + ".definition"
		}
	}
	return out
}
