package launch

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/settings/agentsettings"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/spec"
)

// ownSettings makes the settings of a profile of the built-in agent. All that
// is dangling is refused together.
func ownSettings(ctx context.Context, p *schema.Map, llmProfile string, stores *Stores, servers *schema.Map, skills []any, dangling *DanglingReferences) (*schema.Map, error) {
	ref := llmProfile
	if ref == "" {
		ref = p.Text("llm_profile_ref")
	}
	model, err := loadLLM(ctx, stores, ref)
	if err != nil {
		return nil, err
	}
	if model == nil {
		dangling.LLM = &ref
	}
	meta, models, err := loadMeta(ctx, p, stores, dangling)
	if err != nil {
		return nil, err
	}
	if dangling.any() {
		if dangling.MetaLLMs == nil {
			dangling.MetaLLMs = []string{}
		}
		return nil, dangling.err()
	}
	model = model.Copy()
	model.Set("stream", true) // profiles do not have this setting
	return settingsOf(p, model, meta, models, servers, skills, stores)
}

func settingsOf(p, model, meta, models, servers *schema.Map, skills []any, stores *Stores) (*schema.Map, error) {
	tools := p.Get("tools")
	if list, ok := tools.([]any); ok {
		tools = spec.ScopeSubAgents(list)
	}
	verification := p.Object("verification").Copy()
	if stores.CriticKey != "" {
		verification.Set("critic_api_key", stores.CriticKey.Reveal())
	}
	var metaDoc any
	if meta != nil {
		metaDoc = meta
	}
	m, err := agentsettings.Validate(schema.Of(
		"schema_version", schema.Count(agentsettings.Version), "agent_kind", "openhands", "agent", p.Get("agent"),
		"llm", model, "tools", tools, "mcp_config", servers, "persona", p.Get("persona"),
		"enable_classify_and_switch_llm_tool", p.Get("enable_classify_and_switch_llm_tool"),
		"active_meta_profile", p.Get("meta_profile_ref"), "meta_profile", metaDoc, "meta_profile_llms", models,
		"tool_concurrency_limit", p.Get("tool_concurrency_limit"),
		"agent_context", schema.Of("skills", skills, "system_message_suffix", p.Get("system_message_suffix"),
			"load_project_skills", true, "disabled_skills", p.Get("disabled_skills")),
		"condenser", p.Get("condenser"), "verification", verification,
	), schema.Reading{})
	if err != nil {
		return nil, refuse("%v", err)
	}
	return m, nil
}

// loadLLM returns the document of an LLM profile, nil where there is none.
func loadLLM(ctx context.Context, stores *Stores, name string) (*schema.Map, error) {
	l, err := stores.LLMs.Load(ctx, name)
	var dangling *spec.DanglingError
	switch {
	case err == nil:
		return l.Doc()
	case errors.As(err, &dangling):
		return nil, refuse("LLM profile '%s': %v", name, err)
	case fault.Is(err, fault.NotFound):
		return nil, nil
	}
	return nil, unread("LLM profile '"+name+"'", err)
}

// loadMeta returns the meta-profile that a profile routes by, with the LLMs
// that it may choose.
func loadMeta(ctx context.Context, p *schema.Map, stores *Stores, dangling *DanglingReferences) (meta, models *schema.Map, err error) {
	models = schema.NewMap()
	name := p.Text("meta_profile_ref")
	if p.Get("enable_classify_and_switch_llm_tool") != true || name == "" {
		return nil, models, nil
	}
	meta, err = stores.Metas.Load(ctx, name)
	switch {
	case fault.Is(err, fault.NotFound):
		dangling.MetaProfile = &name
		return nil, models, nil
	case err != nil:
		return nil, nil, unread("meta-profile '"+name+"'", err)
	}
	refs := []string{meta.Text("classifier_model")}
	classes, _ := meta.Get("classes").([]any)
	for _, c := range classes {
		class, _ := c.(*schema.Map)
		refs = append(refs, class.Text("model"))
	}
	for _, ref := range refs {
		if _, ok := models.Lookup(ref); ok || slices.Contains(dangling.MetaLLMs, ref) {
			continue
		}
		one, err := loadLLM(ctx, stores, ref)
		switch {
		case err != nil:
			return nil, nil, err
		case one == nil:
			dangling.MetaLLMs = append(dangling.MetaLLMs, ref)
		default:
			models.Set(ref, one)
		}
	}
	if meta.Get("prompt_template") != nil {
		return meta, models, addAll(ctx, stores, models)
	}
	return meta, models, nil
}

// addAll adds every saved LLM, because a template may choose any. Those that
// cannot be read are left out.
func addAll(ctx context.Context, stores *Stores, models *schema.Map) error {
	names, err := stores.LLMs.Names(ctx)
	if err != nil {
		return unread("LLM profile", err)
	}
	for _, name := range names {
		if _, ok := models.Lookup(name); ok {
			continue
		}
		if one, err := loadLLM(ctx, stores, name); err == nil && one != nil {
			models.Set(name, one)
		}
	}
	return nil
}

// acpSettings makes the settings of an ACP profile.
func acpSettings(p, servers *schema.Map, skills []any, dangling *DanglingReferences) (*schema.Map, error) {
	if dangling.any() {
		dangling.MetaLLMs = []string{}
		return nil, dangling.err()
	}
	command, err := words(p.Text("acp_command"))
	if err != nil {
		return nil, refuse("%v", err)
	}
	if p.Text("acp_server") == "custom" && len(command) == 0 {
		return nil, refuse("acp_command is required when acp_server='custom': there is no default launch command to fall back to")
	}
	args := p.Get("acp_args")
	if args == nil {
		args = []any{}
	}
	m, err := agentsettings.Validate(schema.Of(
		"schema_version", schema.Count(agentsettings.Version), "agent_kind", "acp", "acp_server", p.Get("acp_server"),
		"acp_model", p.Get("acp_model"), "acp_session_mode", p.Get("acp_session_mode"),
		"acp_prompt_timeout", p.Get("acp_prompt_timeout"), "acp_startup_timeout", p.Get("acp_startup_timeout"),
		"acp_command", command, "acp_args", args, "mcp_config", servers,
		"agent_context", schema.Of("skills", skills, "current_datetime", nil),
	), schema.Reading{})
	if err != nil {
		return nil, refuse("%v", err)
	}
	return m, nil
}

// words splits a command line as a POSIX shell does, without expanding
// anything.
func words(line string) ([]any, error) {
	out := []any{}
	var b strings.Builder
	var quote rune
	open, escaped := false, false
	for _, r := range line {
		switch {
		case escaped:
			if quote == '"' && r != '"' && r != '\\' {
				b.WriteRune('\\')
			}
			b.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			escaped, open = true, true
		case quote != 0:
			if r == quote {
				quote = 0
			} else {
				b.WriteRune(r)
			}
		case r == '\'' || r == '"':
			quote, open = r, true
		case r == ' ' || r == '\t' || r == '\n' || r == '\r':
			if open {
				out = append(out, b.String())
				b.Reset()
				open = false
			}
		default:
			b.WriteRune(r)
			open = true
		}
	}
	switch {
	case quote != 0:
		return nil, fault.New(fault.Invalid, "No closing quotation")
	case escaped:
		return nil, fault.New(fault.Invalid, "No escaped character")
	case open:
		out = append(out, b.String())
	}
	return out, nil
}
