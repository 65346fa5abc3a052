package settings

import (
	"net/http"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/agentserver/rest"
	"github.com/deft-dev/deft/internal/settings"
	"github.com/deft-dev/deft/internal/settings/agentsettings"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/spec"
)

func agentSchema(w http.ResponseWriter, _ *http.Request) error {
	return rest.JSON(w, http.StatusOK, agentsettings.AgentPage())
}

func conversationSchema(w http.ResponseWriter, _ *http.Request) error {
	return rest.JSON(w, http.StatusOK, agentsettings.ConversationPage())
}

func (s server) answer(w http.ResponseWriter, status int, doc *settings.Document, mode schema.Mode) error {
	m, err := doc.Dump(schema.Writing{Mode: mode, Keys: s.Keys()})
	if err != nil {
		return noKey(err)
	}
	m.Set("llm_api_key_is_set", doc.HasKey())
	return rest.JSON(w, status, m)
}

func (s server) getSettings(w http.ResponseWriter, r *http.Request) error {
	mode, err := exposure(r)
	if err != nil {
		return err
	}
	doc, err := s.Load()
	if err != nil {
		return err
	}
	if mode == schema.Plain {
		s.log.Warn("settings are read with their secrets in the clear", "client", r.RemoteAddr)
	}
	return s.answer(w, http.StatusOK, doc, mode)
}

var patchBody = spec.Reference("SettingsUpdateRequest", schema.Object{}, schema.Field{Name: "agent_settings_diff", Type: schema.Opt(schema.Dict{Of: schema.Any{}})})

func (s server) patchSettings(w http.ResponseWriter, r *http.Request) error {
	v, err := rest.RequiredDocument(r)
	if err != nil {
		return err
	}
	m, err := patchBody.Check(v, schema.Reading{}, "body")
	if err != nil {
		return err
	}
	raw, _ := v.(*schema.Map)
	d, any := diffOf(m, raw)
	if !any {
		return fault.New(fault.Invalid, "At least one of agent_settings_diff, conversation_settings_diff, misc_settings_diff, "+
			"active_profile, active_agent_profile_id, or active_meta_profile must be provided")
	}
	doc, err := s.Update(r.Context(), d)
	if err != nil {
		return err
	}
	return s.answer(w, http.StatusOK, doc, schema.Masked)
}

// diffOf returns what a checked body changes. Pointers count if they were
// sent, null included.
func diffOf(m, sent *schema.Map) (d settings.Diff, any bool) {
	d.Agent, d.Conversation, d.Misc = m.Object("agent_settings_diff"), m.Object("conversation_settings_diff"), m.Object("misc_settings_diff")
	any = d.Agent != nil || d.Conversation != nil || d.Misc != nil
	point := func(key string) **string {
		if _, ok := sent.Lookup(key); !ok {
			return nil
		}
		any = true
		p := m.Pointer(key)
		return &p
	}
	d.ActiveProfile, d.ActiveAgentProfile = point("active_profile"), point("active_agent_profile_id")
	d.ActiveMetaProfile = point("active_meta_profile")
	return d, any
}

func (s server) postServer(w http.ResponseWriter, r *http.Request) error {
	m, err := rest.BodyAs(r, spec.MCPSchema)
	if err != nil {
		return err
	}
	plain, err := spec.MCPSchema.Dump(m, schema.Writing{Mode: schema.Plain})
	if err != nil {
		return err
	}
	doc, err := s.ChangeServer(r.Context(), r.PathValue("settings_key"), plain, false)
	if err != nil {
		return err
	}
	return s.answer(w, http.StatusCreated, doc, schema.Masked)
}

// clearable is an object whose texts null removes.
var clearable = schema.Opt(schema.Dict{Of: schema.Opt(schema.String{})})

var serverPatch = spec.Reference("MCPServerPatch", schema.Object{},
	schema.Field{Name: "env", Type: clearable}, schema.Field{Name: "headers", Type: clearable})

func (s server) patchServer(w http.ResponseWriter, r *http.Request) error {
	v, err := rest.RequiredDocument(r)
	if err != nil {
		return err
	}
	checked, err := serverPatch.Check(v, schema.Reading{}, "body")
	if err != nil {
		return err
	}
	patch := schema.NewMap()
	given, _ := v.(*schema.Map)
	for _, k := range given.Keys() {
		patch.Set(k, checked.Get(k))
	}
	doc, err := s.ChangeServer(r.Context(), r.PathValue("settings_key"), patch, true)
	if err != nil {
		return err
	}
	return s.answer(w, http.StatusOK, doc, schema.Masked)
}

func (s server) deleteServer(w http.ResponseWriter, r *http.Request) error {
	doc, err := s.ChangeServer(r.Context(), r.PathValue("settings_key"), nil, true)
	if err != nil {
		return err
	}
	return s.answer(w, http.StatusOK, doc, schema.Masked)
}
