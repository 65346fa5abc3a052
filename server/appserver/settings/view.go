package settings

import (
	"context"
	"net/http"

	"github.com/google/uuid"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/settings"
	"github.com/deft-dev/deft/spec"
)

// secrecy is a view's treatment of secrets.
type secrecy int

const (
	hidden  secrecy = iota // only whether there is one
	exposed                // the values
)

// mayExpose refuses to show secrets to anything but a program with the owner's API key,
// and logs it.
func (u user) mayExpose(r *http.Request) error {
	if u.caller.Method != identity.APIKey {
		return fault.New(fault.Denied, "secrets are shown only to programs with an API key")
	}
	u.s.o.Log.Warn("settings are read with their secrets in the clear",
		"owner", u.caller.Tenant(), "key", u.caller.Credential, "client", r.RemoteAddr)
	return nil
}

// inSandbox reports whether a program with the owner's API key shows that it also has a
// sandbox of his: OpenHands' SDK starts agents there, with the owner's MCP servers.
func (u user) inSandbox(r *http.Request) bool {
	key := r.Header.Get(rest.KeyHeader)
	if key == "" || u.caller.Method != identity.APIKey {
		return false
	}
	b, err := u.s.o.Sandboxes.SandboxOfKey(r.Context(), key)
	return err == nil && identity.Tenant(b.Owner) == u.caller.Tenant()
}

// organisation is the id of the organisation that every owner is alone in.
func organisation(owner identity.Tenant) string {
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte("deft:owner:"+string(owner))).String()
}

// view is a user's settings as the contract shows them.
type view struct {
	u             user
	doc           *settings.Document
	show          secrecy
	servers       schema.Mode        // how the flat form has the secrets of MCP servers
	hosts         map[string]*string // of Git providers that have a token
	search, other string             // keys of services
}

// configured is view for a user who has settings; else it is NotFound, upon which web
// interfaces ask for them.
func (u user) configured(ctx context.Context, show secrecy) (view, error) {
	ok, err := u.Configured(ctx)
	if err != nil {
		return view{}, err
	}
	if !ok && u.CommonModel() == "" {
		return view{}, fault.New(fault.NotFound, "Settings not found")
	}
	return u.view(ctx, show)
}

func (u user) view(_ context.Context, show secrecy) (v view, err error) {
	v = view{u: u, show: show}
	v.servers = v.mode()
	if v.doc, err = u.Load(); err != nil {
		return v, err
	}
	if v.hosts, err = u.ProviderHosts(); err != nil {
		return v, err
	}
	for key, to := range map[settings.ServiceKey]*string{settings.SearchKey: &v.search, settings.SandboxKey: &v.other} {
		value, err := u.ServiceKey(key)
		if err != nil {
			return v, err
		}
		*to = value.Reveal()
	}
	return v, nil
}

// mode is how secrets are written that clients send back as they got them.
func (v view) mode() schema.Mode {
	if v.show == exposed {
		return schema.Plain
	}
	return schema.Masked
}

// secret is a secret that clients never send back: null, or its value.
func (v view) secret(value string) any {
	if v.show == hidden || value == "" {
		return nil
	}
	return value
}

// common are the fields that both forms have.
func (v view) common() *schema.Map {
	m := v.doc.PreferenceMap()
	m.Set("search_api_key", v.secret(v.search))
	m.Set("sandbox_api_key", v.secret(v.other))
	hosts := schema.NewMap()
	for _, provider := range settings.GitProviders {
		if host, ok := v.hosts[provider]; ok {
			hosts.Set(provider, orNull(host))
		}
	}
	m.Set("provider_tokens_set", hosts)
	m.Set("llm_api_key_set", v.doc.HasKey())
	m.Set("search_api_key_set", v.search != "")
	return m
}

func orNull(s *string) any {
	if s == nil {
		return nil
	}
	return *s
}

// flat has the fields that programs of OpenHands read from the user.
func (v view) flat() (*schema.Map, error) {
	m := v.common()
	agent := v.doc.Agent
	m.Set("agent", agent.Get("agent"))
	m.Set("llm_api_key", nil)
	for _, key := range []string{"llm_model", "llm_base_url", "condenser_max_size"} {
		m.Set(key, nil)
	}
	m.Set("enable_default_condenser", true)
	if !v.doc.ACP() {
		l, err := spec.LLMFrom(agent.Object("llm"))
		if err != nil {
			return nil, err
		}
		if v.show == exposed { // for a caller of the model
			if err := l.Resolve(v.u.Profiles.Connections.Find(context.Background()), ""); err != nil {
				return nil, err
			}
			m.Set("llm_api_key", v.secret(l.APIKey.Reveal()))
		}
		m.Set("llm_model", l.Model)
		m.Set("llm_base_url", orNull(l.BaseURL))
		condenser := agent.Object("condenser")
		m.Set("enable_default_condenser", condenser.Get("enabled"))
		m.Set("condenser_max_size", condenser.Get("max_size"))
	}
	for _, key := range conversationFields {
		m.Set(key, v.doc.Conversation.Get(key))
	}
	if m.Get("security_analyzer") == "none" {
		m.Set("security_analyzer", nil)
	}
	lists, err := v.mcpLists()
	m.Set("mcp_config", lists)
	return m, err
}

// nested is the form of OpenHands' cloud.
func (v view) nested(ctx context.Context) (*schema.Map, error) {
	m := v.common()
	dumped, err := v.doc.Dump(schema.Writing{Mode: v.mode()})
	if err != nil {
		return nil, err
	}
	agent := dumped.Object("agent_settings")
	if l := agent.Object("llm"); l != nil && v.show == hidden {
		l.Set("api_key", nil)
	}
	m.Set("agent_settings", agent)
	m.Set("conversation_settings", dumped.Object("conversation_settings"))
	all, err := v.profiles(ctx)
	if err != nil {
		return nil, err
	}
	m.Set("llm_profiles", schema.Of("profiles", all, "active", orNull(v.doc.ActiveProfile)))
	m.Set("active_agent_profile_id", orNull(v.doc.ActiveAgentProfile))
	m.Set("active_agent_profile_revision", nil)
	m.Set("disabled_skills", v.doc.Agent.Object("agent_context").Get("disabled_skills"))
	m.Set("inherited_marketplaces", []any{})
	titles, err := v.u.Profiles.Assignments()
	m.Set("title_llm_profile", nil)
	m.Set("default_llm_model", nil) // ours
	if name := v.u.CommonModel(); name != "" {
		m.Set("default_llm_model", name)
	}
	if name := titles.Services[titleService]; name != "" {
		m.Set("title_llm_profile", name)
	}
	return m, err
}

// profiles are the LLM profiles with their configurations. One that cannot be read is
// left out.
func (v view) profiles(ctx context.Context) (*schema.Map, error) {
	names, err := v.u.Profiles.LLMs.Names(ctx)
	if err != nil {
		return nil, err
	}
	out := schema.NewMap()
	for _, name := range names {
		load := v.u.Profiles.LLMs.Stored
		if v.show == exposed {
			load = v.u.Profiles.LLMs.Load
		}
		l, err := load(ctx, name)
		if err != nil {
			v.u.s.o.Log.Warn("an LLM profile cannot be shown", "owner", v.u.caller.Tenant(), "name", name, "err", err)
			continue
		}
		config, err := profileConfig(l, v.mode())
		if err != nil {
			return nil, err
		}
		out.Set(name, config)
	}
	return out, nil
}

// profileConfig is an LLM as a profile shows it: without its key, unless that is wanted.
func profileConfig(l *spec.LLM, mode schema.Mode) (*schema.Map, error) {
	doc, err := l.Doc()
	if err != nil {
		return nil, err
	}
	config, err := spec.LLMSchema.Dump(doc, schema.Writing{Mode: mode})
	if err == nil && mode == schema.Masked {
		config.Set("api_key", nil)
	}
	return config, err
}
