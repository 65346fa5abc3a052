package agentsettings

import (
	"slices"

	s "github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/spec"
)

// section is a part of a page: the shown fields of an object, or the named ones.
// prefix is the prefix of the fields' keys.
func section(key, label, variant, prefix string, o *s.Object, only ...string) *s.Map {
	fields := []any{}
	for _, f := range o.All() {
		if f.Page != nil && (len(only) == 0 || slices.Contains(only, f.Name)) {
			fields = append(fields, f.Entry(prefix, key, label, variant))
		}
	}
	m := s.Of("key", key, "label", label, "fields", fields, "variant", nil)
	if variant != "" {
		m.Set("variant", variant)
	}
	return m
}

// AgentPage returns the description of the pages of agent settings.
func AgentPage() *s.Map {
	nested := func(key, label string, o *s.Object) any { return section(key, label, "openhands", key+".", o) }
	general := section("general", "General", "openhands", "", openHands)
	general.Set("variant", nil) // unlike its fields
	return s.Of("model_name", "AgentSettings", "sections", []any{
		general,
		nested("llm", "LLM", spec.LLMSchema),
		nested("agent_context", "Memory", spec.ContextSchema),
		nested("condenser", "Condenser", condenserPage()),
		nested("verification", "Verification", verification),
		section("acp", "ACP (Agent Client Protocol)", "acp", "", acp),
	})
}

// ConversationPage returns the description of the page of conversation settings.
func ConversationPage() *s.Map {
	part := func(key, label string, only ...string) any { return section(key, label, "", "", Conversation, only...) }
	return s.Of("model_name", "ConversationSettings", "sections", []any{
		part("general", "General", "max_iterations"),
		part("verification", "Verification", "confirmation_mode", "security_analyzer"),
		part("runtime", "Runtime", "default_runtime", "worktree_base", "worktree_base_ref", "worktree_branch_prefix",
			"container_memory", "container_cpus", "container_browser"),
	})
}
