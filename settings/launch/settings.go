package launch

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/spec"
)

// copied returns some fields of a document.
func copied(p *schema.Map, keys ...string) *schema.Map {
	out := schema.NewMap()
	for _, k := range keys {
		out.Set(k, p.Get(k))
	}
	return out
}

// ownSettings makes the settings of a profile of the built-in agent, and records
// dangling references, so that all of them are refused together.
func ownSettings(ctx context.Context, p *schema.Map, llmProfile string, stores *Stores, dangling *DanglingReferences) (*schema.Map, error) {
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
	m := copied(p, "agent_kind", "agent", "tools", "persona", "enable_classify_and_switch_llm_tool", "tool_concurrency_limit", "condenser")
	if err := addMeta(ctx, m, p, stores, dangling); err != nil {
		return nil, err
	}
	model = model.Copy()
	model.Set("stream", true) // in the reference profiles do not have this setting
	m.Set("llm", model)
	if list, ok := p.Get("tools").([]any); ok {
		m.Set("tools", spec.ScopeSubAgents(list))
	}
	verification := p.Object("verification").Copy()
	if stores.CriticKey != "" {
		verification.Set("critic_api_key", stores.CriticKey.Reveal())
	}
	m.Set("verification", verification)
	context := copied(p, "system_message_suffix", "disabled_skills")
	context.Set("load_project_skills", true)
	m.Set("agent_context", context)
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

// addMeta adds the meta-profile that a profile routes by to its settings, with the
// LLMs that it may choose.
func addMeta(ctx context.Context, settings, p *schema.Map, stores *Stores, dangling *DanglingReferences) error {
	models := schema.NewMap()
	settings.Set("active_meta_profile", p.Get("meta_profile_ref"))
	settings.Set("meta_profile_llms", models)
	name := p.Text("meta_profile_ref")
	if p.Get("enable_classify_and_switch_llm_tool") != true || name == "" {
		return nil
	}
	meta, err := stores.Metas.Load(ctx, name)
	switch {
	case fault.Is(err, fault.NotFound):
		dangling.MetaProfile = &name
		return nil
	case err != nil:
		return unread("meta-profile '"+name+"'", err)
	}
	settings.Set("meta_profile", meta)
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
			return err
		case one == nil:
			dangling.MetaLLMs = append(dangling.MetaLLMs, ref)
		default:
			models.Set(ref, one)
		}
	}
	if meta.Get("prompt_template") != nil {
		return addAll(ctx, stores, models)
	}
	return nil
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
func acpSettings(p *schema.Map) (*schema.Map, error) {
	command, err := Words(p.Text("acp_command"))
	if err != nil {
		return nil, refuse("%v", err)
	}
	if p.Text("acp_server") == "custom" && len(command) == 0 {
		return nil, refuse("acp_command is required when acp_server='custom': there is no default launch command to fall back to")
	}
	m := copied(p, "agent_kind", "acp_server", "acp_model", "acp_session_mode", "acp_prompt_timeout", "acp_startup_timeout")
	m.Set("acp_command", command)
	if args := p.Get("acp_args"); args != nil {
		m.Set("acp_args", args)
	}
	m.Set("agent_context", schema.Of("current_datetime", nil))
	return m, nil
}

// Words splits a command line as a POSIX shell does, without expanding
// anything.
func Words(line string) ([]any, error) {
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
