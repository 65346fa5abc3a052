package settings

import (
	"net/http"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/settings/profiles"
	"github.com/deft-dev/deft/spec"
)

// profileName returns the name in a path; a violation if it cannot be one.
func profileName(r *http.Request) (string, error) {
	name := r.PathValue("name")
	_, err := schema.Check(schema.String{Min: 1, Max: 64, Pattern: profiles.Names}, name, schema.Reading{}, "path", "name")
	return name, err
}

// named is the answer to a change of a profile.
type named struct {
	Name    string `json:"name"`
	Message string `json:"message"`
}

// profileInfo is a profile in a list.
type profileInfo struct {
	Name      string  `json:"name"`
	Model     *string `json:"model"`
	BaseURL   *string `json:"base_url"`
	APIKeySet bool    `json:"api_key_set"`
}

func (u user) listProfiles(r *http.Request) (any, error) {
	list, err := u.Profiles.LLMs.List(r.Context())
	if err != nil {
		return nil, err
	}
	doc, err := u.Load()
	if err != nil {
		return nil, err
	}
	out := make([]profileInfo, len(list))
	for i, one := range list {
		out[i] = profileInfo{one.Name, one.Model, one.BaseURL, one.APIKeySet}
	}
	return map[string]any{"profiles": out, "active_profile": doc.ActiveProfile}, nil
}

func (u user) getProfile(r *http.Request) (any, error) {
	name, err := profileName(r)
	if err != nil {
		return nil, err
	}
	l, err := u.Profiles.LLMs.Stored(r.Context(), name)
	if err != nil {
		return nil, err
	}
	config, err := profileConfig(l, schema.Masked)
	if err != nil {
		return nil, err
	}
	set, err := u.HasKey(r.Context(), l)
	return map[string]any{"name": name, "config": config, "api_key_set": set}, err
}

// bodyOfProfile describes a profile that is sent; keeps says whether one without an API key
// leaves the stored key as it is.
func bodyOfProfile(keeps bool) *schema.Object {
	return &schema.Object{Fields: []schema.Field{
		{Name: "include_secrets", Type: schema.Bool{}, Default: true},
		{Name: "llm", Type: schema.Opt(schema.Dict{Of: schema.Any{}})},
		{Name: "preserve_existing_api_key", Type: schema.Bool{}, Default: keeps},
	}}
}

var (
	profileBody = bodyOfProfile(false)
	// agent-canvas edits a profile without its key, which it is not shown.
	organizationProfileBody = bodyOfProfile(true)
)

// saveProfile saves the LLM in the body, or the settings' LLM, as a profile.
func (u user) saveProfile(r *http.Request) (any, error) { return u.storeProfile(r, profileBody) }

func (u user) saveForOrganization(r *http.Request) (any, error) {
	return u.storeProfile(r, organizationProfileBody)
}

func (u user) storeProfile(r *http.Request, form *schema.Object) (any, error) {
	name, err := profileName(r)
	if err != nil {
		return nil, err
	}
	sent, _, err := rest.Document(r)
	if err != nil {
		return nil, err
	}
	if sent == nil {
		sent = schema.NewMap()
	}
	body, err := form.Check(sent, schema.Reading{}, "body")
	if err != nil {
		return nil, err
	}
	l, err := u.sentLLM(body.Object("llm"))
	if err != nil {
		return nil, err
	}
	if body.Get("preserve_existing_api_key") == true && !l.HasKey() && (l.ProviderConnectionID == nil || *l.ProviderConnectionID == "") {
		old, err := u.Profiles.LLMs.Stored(r.Context(), name)
		switch {
		case err == nil:
			l.APIKey = old.APIKey
		case !fault.Is(err, fault.NotFound):
			return nil, err
		}
	}
	if err := u.Profiles.LLMs.Save(r.Context(), name, l, body.Get("include_secrets") == true); err != nil {
		return nil, err
	}
	return named{name, "Profile '" + name + "' saved"}, nil
}

// sentLLM checks an LLM, of which unknown fields are refused; without one it is the
// settings' own.
func (u user) sentLLM(sent *schema.Map) (*spec.LLM, error) {
	if sent == nil {
		doc, err := u.Load()
		if err != nil {
			return nil, err
		}
		if doc.ACP() {
			return nil, fault.New(fault.Conflict, "the settings are an ACP agent's, which has no LLM to save")
		}
		return spec.LLMFrom(doc.Agent.Object("llm"))
	}
	var unknown schema.Violations
	for _, key := range sent.Keys() {
		if spec.LLMSchema.Field(key) == nil {
			unknown = append(unknown, schema.Violation{Type: "extra_forbidden", Loc: []any{"body", "llm", key}, Msg: "Extra inputs are not permitted"})
		}
	}
	if unknown != nil {
		return nil, unknown
	}
	doc, err := spec.LLMSchema.Check(sent, schema.Reading{}, "body", "llm")
	if err != nil {
		return nil, err
	}
	return spec.LLMFrom(doc)
}

func (u user) deleteProfile(r *http.Request) (any, error) {
	name, err := profileName(r)
	if err != nil {
		return nil, err
	}
	if err := u.DeleteLLM(r.Context(), name); err != nil {
		return nil, err
	}
	return named{name, "Profile '" + name + "' deleted"}, nil
}

func (u user) activateProfile(r *http.Request) (any, error) {
	name, err := profileName(r)
	if err != nil {
		return nil, err
	}
	applied, err := u.ActivateLLM(r.Context(), name)
	if err != nil {
		return nil, err
	}
	out := map[string]any{"name": name, "message": "Profile '" + name + "' activated", "model": nil}
	if applied {
		doc, err := u.Load()
		if err != nil {
			return nil, err
		}
		out["model"] = doc.Agent.Object("llm").Get("model")
	}
	return out, nil
}

var newNameBody = &schema.Object{Fields: []schema.Field{
	{Name: "new_name", Type: schema.String{Min: 1, Max: 64, Pattern: profiles.Names}, Required: true},
}}

func (u user) renameProfile(r *http.Request) (any, error) {
	name, err := profileName(r)
	if err != nil {
		return nil, err
	}
	body, err := rest.BodyAs(r, newNameBody)
	if err != nil {
		return nil, err
	}
	to := body.Text("new_name")
	if err := u.RenameLLM(r.Context(), name, to); err != nil {
		return nil, err
	}
	return named{to, "Profile '" + name + "' renamed to '" + to + "'"}, nil
}
