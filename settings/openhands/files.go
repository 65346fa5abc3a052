package openhands

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/settings"
	"github.com/deft-dev/deft/spec"
)

// config reads config.toml.
func (r reader) config(root *schema.Map) {
	for _, section := range root.Keys() {
		m := root.Object(section)
		if m == nil {
			r.leave(section, "it is outside of a section")
			continue
		}
		switch section {
		case "llm":
			r.configModels(m)
		case "core":
			for _, key := range m.Keys() {
				if v := m.Get(key); !unset(v) {
					r.core("core."+key, key, v)
				}
			}
		case "security":
			for _, key := range m.Keys() {
				r.conversation("security."+key, key, m.Get(key))
			}
		case "mcp":
			r.lists("mcp.", m)
		case "condenser":
			r.configCondenser(m)
		case "sandbox":
			for _, key := range m.Keys() {
				if !unset(m.Get(key)) {
					r.leave("sandbox."+key, ofOperator)
				}
			}
		default:
			r.leave(section, noEffect)
		}
	}
}

func (r reader) core(full, key string, v any) {
	switch key {
	case "max_iterations":
		r.conversation(full, key, v)
	case "max_budget_per_task", "git_user_name", "git_user_email":
		r.preference(full, key, v)
	case "search_api_key":
		r.serviceKey(full, settings.SearchKey, v)
	case "enable_default_condenser":
		r.condenser(full, "enabled", v)
	case "default_agent":
		if v != "CodeActAgent" { // the same in both
			r.leave(full, ofOperator)
		}
	case "runtime", "debug", "max_concurrent_conversations":
		r.leave(full, ofOperator)
	default:
		r.leave(full, noEffect)
	}
}

// configModels reads [llm], and [llm.NAME], which inherits the values of [llm] that
// it does not set.
func (r reader) configModels(m *schema.Map) {
	own := schema.NewMap()
	var names []string
	for _, key := range m.Keys() {
		if m.Object(key) != nil && spec.LLMSchema.Field(key) == nil {
			names = append(names, key)
		} else {
			own.Set(key, m.Get(key))
		}
	}
	r.model("llm.", own)
	for _, name := range names {
		all := schema.NewMap()
		for _, from := range []*schema.Map{own, m.Object(name)} {
			for _, key := range from.Keys() {
				v, f := from.Get(key), spec.LLMSchema.Field(key)
				switch {
				case unset(v):
				case f != nil && spec.HasEffect(key) && fits(f.Type, v):
					all.Set(key, v)
				case from != own: // mistakes of [llm] were reported
					r.leave("llm."+name+"."+key, unfit)
				}
			}
		}
		r.named("llm."+name, name, all)
	}
}

// settings reads settings.json, in its flat form or with agent_settings.
func (r reader) settings(root *schema.Map) {
	model := schema.NewMap()
	for _, key := range root.Keys() {
		v := root.Get(key)
		if unset(v) {
			continue
		}
		switch key {
		case "llm_model", "llm_base_url", "llm_api_key":
			model.Set(strings.TrimPrefix(key, "llm_"), v)
		case "max_iterations", "confirmation_mode", "security_analyzer":
			r.conversation(key, key, v)
		case "enable_default_condenser":
			r.condenser(key, "enabled", v)
		case "condenser_max_size":
			r.condenser(key, "max_size", v)
		case "search_api_key":
			r.serviceKey(key, settings.SearchKey, v)
		case "agent":
			if v != "CodeActAgent" {
				r.leave(key, noEffect)
			}
		case "git_user_name", "git_user_email", "max_budget_per_task", "sandbox_grouping_strategy":
			r.preference(key, key, v)
		case "git_full_clone": // clones are whole
			r.leave(key, noEffect)
		case "sandbox_api_key", "remote_runtime_resource_factor", "sandbox_base_container_image", "sandbox_runtime_container_image":
			r.leave(key, ofOperator)
		case "mcp_config":
			r.lists("mcp_config.", root.Object(key))
			r.servers("mcp_config.", root.Object(key))
		case "secrets_store":
			r.secrets("secrets_store.", root.Object(key))
		case "agent_settings":
			r.agent("agent_settings.", root.Object(key))
		case "conversation_settings":
			m := root.Object(key)
			for _, name := range m.Keys() {
				if name != "schema_version" {
					r.conversation("conversation_settings."+name, name, m.Get(name))
				}
			}
		case "schema_version", "llm_api_key_set", "search_api_key_set", "sandbox_api_key_set", "provider_tokens_set":
		default:
			r.leave(key, noEffect)
		}
	}
	if model.Len() > 0 {
		r.model("llm_", model)
	}
}

// agent reads settings of an agent: the server's, and the command line's.
func (r reader) agent(prefix string, root *schema.Map) {
	for _, key := range root.Keys() {
		v := root.Get(key)
		if unset(v) {
			continue
		}
		switch key {
		case "llm":
			r.model(prefix+"llm.", root.Object(key))
		case "mcp_config":
			m := root.Object(key)
			if m.Object("mcpServers") == nil && m.Object("stdio_servers") == nil {
				m = schema.Of("mcpServers", m) // by their names
			}
			r.servers(prefix+"mcp_config.", m)
		case "condenser":
			m := root.Object(key)
			if v, ok := m.Lookup("enabled"); ok {
				r.condenser(prefix+"condenser.enabled", "enabled", v)
			}
			if v, ok := m.Lookup("max_size"); ok {
				r.condenser(prefix+"condenser.max_size", "max_size", v)
			}
		case "kind", "agent_kind", "schema_version":
		case "agent":
			if v != "CodeActAgent" {
				r.leave(prefix+key, noEffect)
			}
		case "tools", "include_default_tools", "filter_tools_regex", "system_prompt_filename", "security_policy_filename":
			r.leave(prefix+key, "Deft's agents have their own tools and prompt")
		default:
			r.leave(prefix+key, noEffect)
		}
	}
}

// servers reads MCP servers by their names.
func (r reader) servers(prefix string, root *schema.Map) {
	all := root.Object("mcpServers")
	for _, name := range all.Keys() {
		r.server(prefix+"mcpServers."+name, name, all.Object(name))
	}
}

func (r reader) server(key, name string, m *schema.Map) {
	if m == nil {
		r.leave(key, unfit)
		return
	}
	masked := false
	for _, field := range []string{"env", "headers", "auth"} {
		inner := m.Object(field)
		for _, k := range inner.Keys() {
			if s, ok := inner.Get(k).(string); ok && (s == schema.Mask || strings.HasPrefix(s, "gAAAA")) {
				masked = true
			}
		}
	}
	if masked {
		r.leave(key, sealed)
		return
	}
	if _, err := spec.MCPSchema.Check(m, schema.Reading{}); err != nil {
		r.leave(key, unfit)
		return
	}
	// Arguments, variables and the path of an address may have secrets.
	what := m.Text("command")
	if u, err := url.Parse(m.Text("url")); what == "" && err == nil {
		what = u.Host
	}
	r.take(key, "MCP server "+name, what, false, func(c *change) { c.servers.Set(name, m) })
}

// lists reads MCP servers in the lists of OpenHands' older form.
func (r reader) lists(prefix string, root *schema.Map) {
	for _, list := range root.Keys() {
		key := prefix + list
		items, ok := root.Get(list).([]any)
		if !ok {
			if list != "mcpServers" {
				r.leave(key, noEffect)
			}
			continue
		}
		transport := map[string]string{"sse_servers": "sse", "shttp_servers": "streamable-http", "stdio_servers": "stdio"}[list]
		if transport == "" {
			r.leave(key, noEffect)
			continue
		}
		for i, v := range items {
			at := fmt.Sprintf("%s[%d]", key, i)
			one, ok := v.(*schema.Map)
			if !ok {
				one = schema.Of("url", v)
			}
			name := fmt.Sprintf("%s_%d", strings.TrimSuffix(list, "_servers"), i)
			server := schema.Of("transport", transport)
			for _, field := range []string{"command", "args", "env", "url", "timeout"} {
				if !unset(one.Get(field)) {
					server.Set(field, one.Get(field))
				}
			}
			if transport == "stdio" {
				name = one.Text("name")
			} else if token := one.Text("api_key"); token != "" {
				if _, why := open(token); why != "" {
					r.leave(at, why)
					continue
				}
				server.Set("auth", schema.Of("strategy", "bearer", "value", token))
			}
			if name == "" {
				r.leave(at, unfit)
				continue
			}
			r.server(at, name, server)
		}
	}
}

// secrets reads secrets.json: tokens of Git hosts, and the user's own secrets.
func (r reader) secrets(prefix string, root *schema.Map) {
	tokens := root.Object("provider_tokens")
	for _, provider := range tokens.Keys() {
		key := prefix + "provider_tokens." + provider
		one := tokens.Object(provider)
		if s, ok := tokens.Get(provider).(string); ok {
			one = schema.Of("token", s)
		}
		if one == nil || unset(one.Get("token")) {
			continue
		}
		text, why := open(one.Get("token"))
		if !slices.Contains(settings.GitProviders, provider) {
			why = noEffect
		}
		if why != "" {
			r.leave(key, why)
			continue
		}
		t := settings.ProviderToken{Token: llm.Secret(text), UserID: one.Text("user_id"), Host: one.Text("host")}
		r.take(key, "token of "+provider, "", true, func(c *change) { c.tokens[provider] = t })
	}
	own := root.Object("custom_secrets")
	for _, name := range own.Keys() {
		key := prefix + "custom_secrets." + name
		value := own.Get(name)
		var description *string
		if one := own.Object(name); one != nil {
			value, description = one.Get("secret"), one.Pointer("description")
		}
		text, why := open(value)
		if why == "" && !settings.SecretNames.MatchString(name) {
			why = "a secret cannot have this name: it becomes a variable"
		}
		if why != "" {
			r.leave(key, why)
			continue
		}
		r.take(key, "secret "+name, "", true, func(c *change) { c.secrets = append(c.secrets, secret{name, llm.Secret(text), description}) })
	}
}

func fits(t schema.Type, v any) bool {
	_, err := schema.Check(t, v, schema.Reading{})
	return err == nil
}
