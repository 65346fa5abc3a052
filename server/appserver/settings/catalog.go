package settings

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/deft-dev/deft/internal/optional"
	"github.com/deft-dev/deft/llm/catalog"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/spec"
)

// model is a model in a list. Verified ones can call tools, which agents need.
type model struct {
	Provider  *string `json:"provider"`
	Name      string  `json:"name"` // without its provider
	Verified  bool    `json:"verified"`
	Hidden    bool    `json:"hidden"`
	Canonical *string `json:"canonical"`
}

// id is unique and orders models.
func (m model) id() string { return *m.Provider + "/" + m.Name }

// provider is a provider of models; verified if it has a verified one.
type provider struct {
	Name     string `json:"name"`
	Verified bool   `json:"verified"`
}

// models are the lists of the catalogue, sorted. They are made when they are first wanted:
// reading the catalogue takes a millisecond, which each start would wait for.
type models struct {
	all       []model
	providers []provider
}

func listModels() (out models) {
	c := catalog.Default()
	for _, name := range c.Names() {
		e, ok := c.Lookup(name)
		if !ok {
			continue
		}
		out.all = append(out.all, model{Provider: &e.Provider, Name: strings.TrimPrefix(name, e.Provider+"/"), Verified: e.Tools})
	}
	slices.SortFunc(out.all, func(a, b model) int { return cmp.Compare(a.id(), b.id()) })
	for _, m := range out.all {
		at := slices.IndexFunc(out.providers, func(p provider) bool { return p.Name == *m.Provider })
		if at < 0 {
			out.providers = append(out.providers, provider{Name: *m.Provider})
			at = len(out.providers) - 1
		}
		out.providers[at].Verified = out.providers[at].Verified || m.Verified
	}
	slices.SortFunc(out.providers, func(a, b provider) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// filter is the query of both lists.
type filter struct {
	text, after string
	limit       int
	verified    *bool
}

func filterOf(q *rest.Query) (f filter) {
	f = filter{text: q.String("query", ""), after: q.String("page_id", ""), limit: q.Limit("limit", 50, 100)}
	if q.Has("verified__eq") {
		v := q.Bool("verified__eq", false)
		f.verified = &v
	}
	return f
}

func (f filter) takes(name string, verified bool) bool {
	return containsFold(name, f.text) && (f.verified == nil || *f.verified == verified)
}

func (s *Service) searchModels(r *http.Request) (any, error) {
	q := rest.QueryOf(r)
	f, of := filterOf(q), q.String("provider__eq", "")
	if err := q.Err(); err != nil {
		return nil, err
	}
	var found []model
	for _, m := range s.models().all {
		if (of == "" || *m.Provider == of) && f.takes(m.id(), m.Verified) {
			found = append(found, m)
		}
	}
	return pageOf(found, model.id, f.after, f.limit), nil
}

func (s *Service) searchProviders(r *http.Request) (any, error) {
	q := rest.QueryOf(r)
	f := filterOf(q)
	if err := q.Err(); err != nil {
		return nil, err
	}
	var found []provider
	for _, p := range s.models().providers {
		if f.takes(p.Name, p.Verified) {
			found = append(found, p)
		}
	}
	return pageOf(found, func(p provider) string { return p.Name }, f.after, f.limit), nil
}

// features are the switches of the web client. There is no billing.
var features = map[string]any{
	"deployment_mode": "self_hosted",
	"enable_billing":  false, "hide_llm_settings": false, "enable_jira": false, "enable_jira_dc": false, "enable_linear": false,
	"hide_users_page": true, "hide_billing_page": true, "hide_integrations_page": true, "hide_personal_workspaces": false,
	"allow_user_llm_configuration": true, "enable_acp": true, "enable_onboarding": false, "enable_automations": false,
	"enable_agent_canvas_banner": false,
}

// webClient answers a page's questions before anyone has signed in.
func (s *Service) webClient(_ *http.Request) (any, error) {
	none := []string{}
	return map[string]any{
		"kind": "WebClientConfig", "app_mode": "oss", "feature_flags": features, "providers_configured": none,
		"posthog_client_key": nil, "maintenance_start_time": nil, "auth_url": nil, "recaptcha_site_key": nil,
		"faulty_models": none, "error_message": nil, "updated_at": rest.Stamp(s.o.Began), "github_app_slug": nil,
		"gitlab_enabled": false, "slack_enabled": false, "email_enabled": false, "email_change_enabled": false,
		"provider_default_hosts": map[string]string{"github": "github.com", "gitlab": "gitlab.com", "bitbucket": "bitbucket.org", "forgejo": "codeberg.org"},
		"acp_providers":          acpProviders(), "jira_dc_oauth_host": nil, "jira_dc_service_account_managed": false,
		"jira_dc_service_account_email": nil, "jira_dc_service_account_config_error": nil,
	}, nil
}

// acpProvider is an agent program that settings can name (ACPProviderConfig of the contract).
type acpProvider struct {
	Key     string   `json:"key"`
	Name    string   `json:"display_name"`
	Command []string `json:"default_command"`
	APIKey  *string  `json:"api_key_env_var"`
	BaseURL *string  `json:"base_url_env_var"`
	Models  []string `json:"available_models"` // only the programs know them
	Default *string  `json:"default_model"`
}

func acpProviders() (all []acpProvider) {
	for _, s := range spec.ACPServers() {
		all = append(all, acpProvider{
			Key: s.Key, Name: s.Title, Command: s.Command(), APIKey: optional.Of(s.APIKey), BaseURL: optional.Of(s.BaseURL), Models: []string{},
		})
	}
	return all
}
