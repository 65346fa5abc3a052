package settings

import (
	"net/http"

	"github.com/deft-dev/deft/server/rest"
)

// optionsConfig answers what OpenHands' page of 0.62 asks for first, before anyone has
// signed in (docs/openhands/web-ui.md).
func (s *Service) optionsConfig(w http.ResponseWriter, _ *http.Request) error {
	flags := map[string]bool{}
	for shown, name := range map[string]string{
		"ENABLE_BILLING": "enable_billing", "HIDE_LLM_SETTINGS": "hide_llm_settings", "ENABLE_JIRA": "enable_jira",
		"ENABLE_JIRA_DC": "enable_jira_dc", "ENABLE_LINEAR": "enable_linear",
	} {
		flags[shown] = features[name]
		if set, ok := s.o.Features[name]; ok {
			flags[shown] = set
		}
	}
	return rest.JSON(w, http.StatusOK, map[string]any{"APP_MODE": "oss", "GITHUB_CLIENT_ID": "", "POSTHOG_CLIENT_KEY": "", "FEATURE_FLAGS": flags})
}

// optionsModels lists all models as provider/name.
func (s *Service) optionsModels(w http.ResponseWriter, _ *http.Request) error {
	out := make([]string, 0, len(s.models.all))
	for _, m := range s.models.all {
		out = append(out, m.id())
	}
	return rest.JSON(w, http.StatusOK, out)
}

// agents are the names that the contract has for the one agent there is.
var agents = []string{"CodeActAgent"}

func optionsAgents(w http.ResponseWriter, _ *http.Request) error {
	return rest.JSON(w, http.StatusOK, agents)
}

func optionsAnalyzers(w http.ResponseWriter, _ *http.Request) error {
	return rest.JSON(w, http.StatusOK, []string{"llm", "none"})
}
