package settings

import (
	"net/http"
	"time"

	"github.com/deft-dev/deft/server/rest"
)

// features are the switches of the web client. There is no billing, and ACP agents are not
// run.
var features = map[string]any{
	"deployment_mode": "self_hosted",
	"enable_billing":  false, "hide_llm_settings": false, "enable_jira": false, "enable_jira_dc": false, "enable_linear": false,
	"hide_users_page": true, "hide_billing_page": true, "hide_integrations_page": true, "hide_personal_workspaces": false,
	"allow_user_llm_configuration": true, "enable_acp": false, "enable_onboarding": false, "enable_automations": false,
	"enable_agent_canvas_banner": false,
}

// webClient answers a page's questions before anyone has signed in.
func (s *Service) webClient(w http.ResponseWriter, _ *http.Request) error {
	none := []string{}
	return rest.JSON(w, http.StatusOK, map[string]any{
		"kind": "WebClientConfig", "app_mode": "oss", "feature_flags": features, "providers_configured": none,
		"posthog_client_key": nil, "maintenance_start_time": nil, "auth_url": nil, "recaptcha_site_key": nil,
		"faulty_models": none, "error_message": nil, "updated_at": stamp(s.o.Began), "github_app_slug": nil,
		"gitlab_enabled": false, "slack_enabled": false, "email_enabled": false, "email_change_enabled": false,
		"provider_default_hosts": map[string]string{"github": "github.com", "gitlab": "gitlab.com", "bitbucket": "bitbucket.org"},
		"acp_providers":          none, "jira_dc_oauth_host": nil, "jira_dc_service_account_managed": false,
		"jira_dc_service_account_email": nil, "jira_dc_service_account_config_error": nil,
	})
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }
