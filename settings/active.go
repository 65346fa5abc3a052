package settings

import (
	"context"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/optional"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/settings/profiles"
	"github.com/deft-dev/deft/spec"
)

// EnsureActive makes an agent profile active if none is: the default one, which
// is made from the settings if it does not exist. It returns the id of the active
// profile, "" if there can be none.
func (s *Service) EnsureActive(ctx context.Context) (string, error) {
	doc, err := s.Load()
	if err != nil {
		return "", err
	}
	active := optional.Value(doc.ActiveAgentProfile)
	id, err := s.Profiles.Agents.Ensure(ctx, active, func() (*schema.Map, error) { return s.seed(ctx, doc) })
	if err != nil || id == "" || id == active {
		return id, err
	}
	_, err = s.Change(ctx, func(d *Document) error {
		d.ActiveAgentProfile = &id
		return nil
	})
	return id, err
}

// ActiveProfile returns the active agent profile, NotFound if there can be
// none.
func (s *Service) ActiveProfile(ctx context.Context) (*schema.Map, error) {
	id, err := s.EnsureActive(ctx)
	if err != nil {
		return nil, err
	}
	if id == "" {
		return nil, fault.New(fault.NotFound, "no agent profile is active")
	}
	return s.Profiles.Agents.ByID(ctx, id)
}

// seed makes an agent profile from the settings.
func (s *Service) seed(ctx context.Context, doc *Document) (*schema.Map, error) {
	a := doc.Agent
	p := schema.Of("name", profiles.Seed)
	copyTo := func(keys ...string) {
		for _, k := range keys {
			p.Set(k, a.Get(k))
		}
	}
	if doc.ACP() {
		p.Set("agent_kind", "acp")
		copyTo("acp_server", "acp_model", "acp_session_mode", "acp_prompt_timeout", "acp_startup_timeout")
		if command, _ := a.Get("acp_command").([]any); len(command) > 0 {
			p.Set("acp_command", quoteAll(command))
		}
		if args, _ := a.Get("acp_args").([]any); len(args) > 0 {
			p.Set("acp_args", args)
		}
		return profiles.ValidateAgent(p)
	}
	ref := optional.Value(doc.ActiveProfile)
	if ref == "" {
		ref = profiles.Seed
		if err := s.seedLLM(ctx, a.Object("llm")); err != nil {
			return nil, err
		}
	}
	p.Set("llm_profile_ref", ref)
	copyTo("agent", "tools", "persona", "condenser", "enable_classify_and_switch_llm_tool", "tool_concurrency_limit")
	context := a.Object("agent_context")
	p.Set("disabled_skills", context.Get("disabled_skills"))
	p.Set("system_message_suffix", context.Get("system_message_suffix"))
	p.Set("meta_profile_ref", a.Get("active_meta_profile"))
	p.Set("verification", a.Object("verification")) // without its key
	return profiles.ValidateAgent(p)
}

// seedLLM saves the settings' LLM as the default profile, unless there is one,
// or nothing was ever configured: a profile without a key is useless.
func (s *Service) seedLLM(ctx context.Context, doc *schema.Map) error {
	_, err := s.Profiles.LLMs.Stored(ctx, profiles.Seed)
	if !fault.Is(err, fault.NotFound) {
		if fault.Is(err, fault.Invalid) {
			return nil // an unreadable profile is not replaced
		}
		return err
	}
	l, err := spec.LLMFrom(doc)
	if err != nil {
		return err
	}
	if !l.HasKey() && l.AuthType != "subscription" && (l.BaseURL == nil || strings.TrimSpace(*l.BaseURL) == "") {
		return nil
	}
	if err = s.Profiles.LLMs.Save(ctx, profiles.Seed, l, true); fault.Is(err, fault.Conflict) {
		return nil // the limit is reached; the agent profile names a missing one
	}
	return err
}

// quoteAll joins the words of a command so that a shell would split them into
// the same words.
func quoteAll(words []any) string {
	out := make([]string, len(words))
	for i, w := range words {
		s, _ := w.(string)
		out[i] = s
		if s == "" || strings.ContainsFunc(s, func(r rune) bool {
			return !strings.ContainsRune("@%+=:,./-_", r) && (r > 'z' || r < '0' || r > '9' && r < 'A' || r > 'Z' && r < 'a')
		}) {
			out[i] = "'" + strings.ReplaceAll(s, "'", `'"'"'`) + "'"
		}
	}
	return strings.Join(out, " ")
}

// DeleteAgentProfile deletes an agent profile. If it was the active one, another
// becomes active, and settings that it left for an ACP agent become the built-in
// one's; MCP servers belong to all agents and stay.
func (s *Service) DeleteAgentProfile(ctx context.Context, name string) error {
	if err := s.Profiles.Agents.Delete(ctx, name); err != nil {
		return err
	}
	doc, err := s.Load()
	if err != nil || doc.ActiveAgentProfile == nil {
		return err
	}
	if _, err := s.Profiles.Agents.NameOf(ctx, *doc.ActiveAgentProfile); !fault.Is(err, fault.NotFound) {
		return err
	}
	if _, err := s.Change(ctx, reset); err != nil {
		return err
	}
	_, err = s.EnsureActive(ctx)
	return err
}

func reset(d *Document) error {
	d.ActiveAgentProfile = nil
	if !d.ACP() {
		return nil
	}
	servers := d.Agent.Get("mcp_config")
	d.Agent = documentSchema.Defaults().Object("agent_settings")
	d.Agent.Set("mcp_config", servers)
	return nil
}
