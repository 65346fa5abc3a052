package settings

import (
	"net/http"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/settings"
	"github.com/deft-dev/deft/settings/agentsettings"
	"github.com/deft-dev/deft/spec"
)

func agentSchema(server, *http.Request) (any, error) { return agentsettings.AgentPage(), nil }

func conversationSchema(server, *http.Request) (any, error) {
	return agentsettings.ConversationPage(), nil
}

// answer returns settings as clients see them; err comes from reading or changing
// them.
func (s server) answer(doc *settings.Document, err error, mode schema.Mode) (any, error) {
	if err != nil {
		return nil, err
	}
	m, err := doc.Dump(schema.Writing{Mode: mode, Keys: s.Keys()})
	if err != nil {
		return nil, err
	}
	m.Set("llm_api_key_is_set", doc.HasKey())
	return m, nil
}

func (s server) getSettings(r *http.Request) (any, error) {
	mode, err := exposure(r)
	if err != nil {
		return nil, err
	}
	doc, err := s.Load()
	if mode == schema.Plain {
		s.log.Warn("settings are read with their secrets in the clear", "client", r.RemoteAddr)
	}
	return s.answer(doc, err, mode)
}

var patchBody = spec.Reference("SettingsUpdateRequest", schema.Object{}, schema.Field{Name: "agent_settings_diff", Type: schema.Opt(schema.Dict{Of: schema.Any{}})})

// patchSettings changes settings. Pointers count if they were sent, null
// included.
func (s server) patchSettings(r *http.Request) (any, error) {
	m, sent, err := given(r, patchBody)
	if err != nil {
		return nil, err
	}
	d := settings.Diff{Agent: m.Object("agent_settings_diff"), Conversation: m.Object("conversation_settings_diff"), Misc: m.Object("misc_settings_diff")}
	something := d.Agent != nil || d.Conversation != nil || d.Misc != nil
	for key, to := range map[string]***string{
		"active_profile": &d.ActiveProfile, "active_agent_profile_id": &d.ActiveAgentProfile, "active_meta_profile": &d.ActiveMetaProfile,
	} {
		if _, ok := sent.Lookup(key); ok {
			p := m.Pointer(key)
			*to, something = &p, true
		}
	}
	if !something {
		return nil, fault.New(fault.Invalid, "At least one of agent_settings_diff, conversation_settings_diff, misc_settings_diff, "+
			"active_profile, active_agent_profile_id, or active_meta_profile must be provided")
	}
	doc, err := s.Update(r.Context(), d)
	return s.answer(doc, err, schema.Masked)
}

func (s server) postServer(r *http.Request) (any, error) {
	m, err := rest.BodyAs(r, spec.MCPSchema)
	if err != nil {
		return nil, err
	}
	plain, err := spec.MCPSchema.Dump(m, schema.Writing{Mode: schema.Plain})
	if err != nil {
		return nil, err
	}
	return s.changeServer(r, plain, false)
}

// clearable is an object whose texts null removes.
var clearable = schema.Opt(schema.Dict{Of: schema.Opt(schema.String{})})

var serverPatch = spec.Reference("MCPServerPatch", schema.Object{},
	schema.Field{Name: "env", Type: clearable}, schema.Field{Name: "headers", Type: clearable}, spec.MCPNetwork)

func (s server) patchServer(r *http.Request) (any, error) {
	m, sent, err := given(r, serverPatch)
	if err != nil {
		return nil, err
	}
	patch := schema.NewMap()
	for _, k := range sent.Keys() {
		patch.Set(k, m.Get(k))
	}
	return s.changeServer(r, patch, true)
}

func (s server) deleteServer(r *http.Request) (any, error) { return s.changeServer(r, nil, true) }

func (s server) changeServer(r *http.Request, patch *schema.Map, exists bool) (any, error) {
	doc, err := s.ChangeServer(r.Context(), r.PathValue("settings_key"), patch, exists)
	return s.answer(doc, err, schema.Masked)
}
