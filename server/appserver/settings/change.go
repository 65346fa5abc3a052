package settings

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/settings"
)

// titleService is the service that writes titles, in the assignments of LLM profiles.
const titleService = "titles"

// conversationFields are the flat fields of conversation settings.
var conversationFields = []string{"max_iterations", "confirmation_mode", "security_analyzer"}

// flatFields are the fields of a change beside preferences and the two documents.
var flatFields = &schema.Object{Fields: []schema.Field{
	{Name: "llm_model", Type: schema.Opt(schema.String{Max: 256})},
	{Name: "llm_base_url", Type: schema.Opt(schema.String{Max: 2048})},
	{Name: "llm_api_key", Type: schema.Opt(schema.String{Max: 16 << 10})},
	{Name: "search_api_key", Type: schema.Opt(schema.String{Max: 16 << 10})},
	{Name: "sandbox_api_key", Type: schema.Opt(schema.String{Max: 16 << 10})},
	{Name: "agent", Type: schema.Opt(schema.String{Max: 256})},
	{Name: "enable_default_condenser", Type: schema.Opt(schema.Bool{})},
	{Name: "condenser_max_size", Type: schema.Opt(schema.Int{Bounds: schema.Bounds{GE: &leastCondenser}})},
	{Name: "max_iterations", Type: schema.Opt(schema.Int{Bounds: schema.Bounds{GE: &one}})},
	{Name: "confirmation_mode", Type: schema.Opt(schema.Bool{})},
	{Name: "security_analyzer", Type: schema.Opt(schema.Enum{"llm", "none"})},
	{Name: "disabled_skills", Type: schema.Opt(schema.List{Of: schema.String{}})},
	{Name: "title_llm_profile", Type: schema.Opt(schema.String{})},
	{Name: "active_agent_profile_id", Type: schema.Opt(schema.String{})},
	{Name: "mcp_config", Type: schema.Opt(mcpConfig)},
	{Name: "agent_settings_diff", Type: schema.Opt(schema.Dict{Of: schema.Any{}})},
	{Name: "conversation_settings_diff", Type: schema.Opt(schema.Dict{Of: schema.Any{}})},
}}

var leastCondenser, one = 20.0, 1.0

// agents are the names that the contract has for the one agent there is.
var agents = []string{"CodeActAgent"}

// answered are fields of answers that clients send back; they change nothing.
var answered = []string{
	"llm_api_key_set", "search_api_key_set", "provider_tokens_set", "llm_profiles", "secrets_store", "inherited_marketplaces",
	"active_agent_profile_revision", "id", "org_id", "org_name", "role", "permissions",
}

// nullable are the fields whose null means that there is none; for all others it means
// no change.
var nullable = []string{"max_budget_per_task", "security_analyzer"}

// change applies a client's change to the settings, and returns the fields that change nothing. A
// blank key of a service removes it.
func (u user) change(ctx context.Context, body *schema.Map) (ignored []string, err error) {
	preferences, err := given(settings.PreferenceFields, body)
	if err != nil {
		return nil, err
	}
	flat, err := given(flatFields, body)
	if err != nil {
		return nil, err
	}
	return u.s.unknown(body), u.apply(ctx, flat, preferences)
}

func (u user) apply(ctx context.Context, flat, preferences *schema.Map) error {
	if title := flat.Text("title_llm_profile"); title != "" {
		if err := u.Profiles.Assign(ctx, titleService, false, title); err != nil {
			return err
		}
	}
	d := u.diff(flat)
	d.Misc = settings.SetPreferences(preferences)
	if _, err := u.Update(ctx, d); err != nil {
		return unfit(err)
	}
	for _, name := range []settings.ServiceKey{settings.SearchKey, settings.SandboxKey} {
		key, sent := flat.Lookup(string(name))
		value, _ := key.(string)
		if !sent || value == schema.Mask {
			continue
		}
		if err := u.SetServiceKey(ctx, name, llm.Secret(strings.TrimSpace(value))); err != nil {
			return err
		}
	}
	return nil
}

// given returns the fields of an object that a body has, checked, without the nulls that
// change nothing.
func given(o *schema.Object, body *schema.Map) (*schema.Map, error) {
	out := schema.NewMap()
	var wrong schema.Violations
	for _, f := range o.All() {
		v, ok := body.Lookup(f.Name)
		if !ok || v == nil && !slices.Contains(nullable, f.Name) {
			continue
		}
		checked, err := schema.Check(f.Type, v, schema.Reading{}, "body", f.Name)
		if bad, ok := errors.AsType[schema.Violations](err); ok {
			wrong = append(wrong, bad...)
			continue
		}
		if err != nil {
			return nil, err
		}
		out.Set(f.Name, checked)
	}
	if len(wrong) > 0 {
		return nil, wrong
	}
	return out, nil
}

// unfit names the settings that do not fit, without their values.
func unfit(err error) error {
	if invalid, ok := errors.AsType[*settings.InvalidError](err); ok && len(invalid.Fields) > 0 {
		return fault.New(fault.Invalid, invalid.Error()+": "+strings.Join(invalid.Fields, ", "))
	}
	return err
}

// withoutEffect are preferences that are kept for clients alone: clones are whole, and
// sandboxes are as the server is configured.
var withoutEffect = []string{
	"git_full_clone", "default_sandbox_spec_id", "sandbox_base_container_image", "sandbox_runtime_container_image",
}

// loadsItself reports whether a marketplace asks that conversations get its plugins without an
// installation, which has no effect: nobody has seen what they run.
func loadsItself(marketplace any) bool {
	m, _ := marketplace.(*schema.Map)
	return m.Get("auto_load") == true
}

// unknown returns and logs the fields of a change that have no meaning. The contract takes them,
// and newer clients send them.
func (s *Service) unknown(body *schema.Map) (unknown []string) {
	for _, key := range body.Keys() {
		if slices.Contains(withoutEffect, key) && !empty(body.Get(key)) {
			unknown = append(unknown, key)
		}
		if list, _ := body.Get(key).([]any); key == "registered_marketplaces" && slices.ContainsFunc(list, loadsItself) {
			unknown = append(unknown, key+".auto_load")
		}
		if key == "agent" && !empty(body.Get(key)) && !slices.Contains(agents, body.Text(key)) {
			unknown = append(unknown, key)
		}
		if settings.PreferenceFields.Field(key) == nil && flatFields.Field(key) == nil && !slices.Contains(answered, key) {
			unknown = append(unknown, key)
		}
	}
	if unknown != nil {
		s.o.Log.Warn("a change of settings has fields without a meaning", "fields", unknown)
	}
	return unknown
}

// empty reports whether a value says nothing.
func empty(v any) bool {
	list, isList := v.([]any)
	return v == nil || v == "" || v == false || isList && len(list) == 0
}

// diff is the change of the settings' document that checked fields make.
func (u user) diff(flat *schema.Map) settings.Diff {
	var d settings.Diff
	agent, model := withoutMasks(flat.Object("agent_settings_diff")), schema.NewMap()
	if l := agent.Object("llm"); l != nil {
		for _, key := range []string{"api_key", "aws_access_key_id", "aws_secret_access_key", "aws_session_token"} {
			if v, ok := l.Lookup(key); ok && v == nil {
				l.Delete(key)
			}
		}
		model = l
	}
	if v := flat.Text("llm_model"); v != "" {
		model.Set("model", v)
	}
	if v, ok := flat.Lookup("llm_base_url"); ok {
		if v == "" {
			v = nil // the provider's
		}
		model.Set("base_url", v)
	}
	if key := flat.Text("llm_api_key"); settings.UsableSecret(key) {
		model.Set("api_key", key)
	}
	if model.Len() > 0 {
		agent.Set("llm", model)
	}
	if v := flat.Text("agent"); v != "" {
		agent.Set("agent", v)
	}
	condenser := schema.NewMap()
	if v, ok := flat.Lookup("enable_default_condenser"); ok {
		condenser.Set("enabled", v)
	}
	if v, ok := flat.Lookup("condenser_max_size"); ok {
		condenser.Set("condenser_kind", "llm_summarizing")
		condenser.Set("max_size", v)
	}
	if condenser.Len() > 0 {
		agent.Set("condenser", schema.Merge(condenser, agent.Object("condenser").Copy()))
	}
	if v, ok := flat.Lookup("disabled_skills"); ok {
		skills := agent.Object("agent_context").Copy()
		skills.Set("disabled_skills", v)
		agent.Set("agent_context", skills)
	}
	d.Servers = replacedServers(flat.Object("mcp_config"))
	// With its masks, which stand for the stored values.
	if servers := flat.Object("agent_settings_diff").Object("mcp_config"); servers != nil && d.Servers == nil {
		if all, ok := servers.Lookup("mcpServers"); ok { // as the cloud's MCPConfig has them
			agent.Delete("mcp_config")
			m, _ := all.(*schema.Map)
			d.Servers = replacedServers(schema.Of("mcpServers", m))
		}
	}
	conversation := flat.Object("conversation_settings_diff").Copy()
	for _, key := range conversationFields {
		if v, ok := flat.Lookup(key); ok {
			conversation.Set(key, v)
		}
	}
	if agent.Len() > 0 {
		d.Agent = agent
	}
	if conversation.Len() > 0 {
		d.Conversation = conversation
	}
	if id := flat.Pointer("active_agent_profile_id"); id != nil {
		d.ActiveAgentProfile = &id
	}
	return d
}

// withoutMasks returns a copy without the members, at any depth, that are a mask: a
// client that sends one back has no other value.
func withoutMasks(m *schema.Map) *schema.Map {
	out := schema.NewMap()
	for _, key := range m.Keys() {
		switch v := m.Get(key).(type) {
		case *schema.Map:
			out.Set(key, withoutMasks(v))
		case string:
			if v != schema.Mask {
				out.Set(key, v)
			}
		default:
			out.Set(key, v)
		}
	}
	return out
}

// errInvalid is a refusal that quotes nothing, which might be a secret.
func errInvalid(why string) error { return fault.New(fault.Invalid, why) }
