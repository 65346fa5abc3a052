package settings

import (
	"fmt"
	"net/http"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/agentserver/rest"
)

// errorTypes name the kinds of failures as the reference does.
var errorTypes = map[fault.Kind]string{
	fault.Auth:        "LLMAuthenticationError",
	fault.RateLimit:   "LLMRateLimitError",
	fault.Quota:       "LLMRateLimitError",
	fault.Timeout:     "LLMTimeoutError",
	fault.Unavailable: "LLMServiceUnavailableError",
	fault.Context:     "LLMContextWindowExceedError",
	fault.Content:     "LLMContentPolicyViolationError",
	fault.Invalid:     "LLMBadRequestError",
	fault.NotFound:    "LLMBadRequestError",
}

// verdict is whether a profile works.
type verdict struct {
	Valid bool     `json:"valid"`
	Error *problem `json:"error"`
}

type problem struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

// verdictOf is what a check of an LLM found.
func verdictOf(err error) verdict {
	if err == nil {
		return verdict{Valid: true}
	}
	name, ok := errorTypes[fault.KindOf(err)]
	if !ok {
		name = "LLMError"
	}
	return verdict{Error: &problem{name, err.Error()}}
}

func (s server) validateLLM(w http.ResponseWriter, r *http.Request, _ string) error {
	l, _, err := s.bodyLLM(r)
	if err != nil {
		return err
	}
	if err := l.Resolve(s.Profiles.Connections.Find(r.Context()), ""); err != nil {
		return err
	}
	if l.AuthType == "subscription" {
		return rest.JSON(w, http.StatusOK, verdict{Error: &problem{"ValueError", fmt.Sprintf("No stored credentials for a subscription of %q", "openai")}})
	}
	return rest.JSON(w, http.StatusOK, verdictOf(s.Check(r.Context(), l)))
}
