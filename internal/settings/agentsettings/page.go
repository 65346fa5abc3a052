package agentsettings

import (
	"slices"

	s "github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/spec"
)

// section collects fields of a page.
func section(key, label, variant string, fields []any) any {
	m := s.Of("key", key, "label", label, "fields", fields, "variant", nil)
	if variant != "" {
		m.Set("variant", variant)
	}
	return m
}

// entries returns the fields of an object that are shown.
func entries(o *s.Object, prefix, key, label, variant string, only ...string) []any {
	out := []any{}
	for _, f := range o.All() {
		if f.Page == nil || len(only) > 0 && !slices.Contains(only, f.Name) {
			continue
		}
		out = append(out, f.Entry(prefix, key, label, variant))
	}
	return out
}

// AgentPage returns what the pages of agent settings are drawn from.
func AgentPage() *s.Map {
	const own = "openhands"
	nested := func(key, label string, o *s.Object) any {
		return section(key, label, own, entries(o, key+".", key, label, own))
	}
	const acp = "ACP (Agent Client Protocol)"
	return s.Of("model_name", "AgentSettings", "sections", []any{
		section("general", "General", "", entries(OpenHands, "", "general", "General", own)),
		nested("llm", "LLM", spec.LLMSchema),
		nested("agent_context", "Memory", spec.ContextSchema),
		nested("condenser", "Condenser", summarizing),
		nested("verification", "Verification", verification),
		section("acp", acp, "acp", entries(ACP, "", "acp", acp, "acp")),
	})
}

// ConversationPage returns what the page of conversation settings is drawn
// from.
func ConversationPage() *s.Map {
	part := func(key, label string, only ...string) any {
		return section(key, label, "", entries(Conversation, "", key, label, "", only...))
	}
	return s.Of("model_name", "ConversationSettings", "sections", []any{
		part("general", "General", "max_iterations"),
		part("verification", "Verification", "confirmation_mode", "security_analyzer"),
		part("runtime", "Runtime", "default_runtime", "worktree_base", "worktree_base_ref", "worktree_branch_prefix",
			"container_memory", "container_cpus", "container_browser"),
	})
}
