package settings

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/agentserver/rest"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/spec"
)

// pingTimeout bounds the call that checks a profile (sdk-wire-1.58.md
// section C.4).
const pingTimeout = 15 * time.Second

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

// verdict says whether a profile works.
type verdict struct {
	Valid bool     `json:"valid"`
	Error *problem `json:"error"`
}

type problem struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

// check makes one short call with an LLM. What is only for now, such as too
// many requests, does not make it invalid; a used-up allowance does.
func (s *Service) check(ctx context.Context, l *spec.LLM) verdict {
	if s.o.Ping == nil {
		return verdict{Error: &problem{"LLMError", "this server cannot call models"}}
	}
	c := *l
	c.NumRetries = 0
	limit := int(pingTimeout / time.Second)
	if c.Timeout != nil && *c.Timeout > 0 {
		limit = min(limit, *c.Timeout)
	}
	c.Timeout = &limit
	ctx, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	err := s.o.Ping(ctx, &c)
	kind := fault.KindOf(err)
	switch {
	case err == nil, kind == fault.RateLimit, kind == fault.Timeout, errors.Is(err, context.DeadlineExceeded):
		return verdict{Valid: true}
	}
	name, ok := errorTypes[kind]
	if !ok {
		name = "LLMError"
	}
	return verdict{Error: &problem{name, withoutKeys(err.Error(), l)}}
}

// withoutKeys takes an LLM's secrets out of a text that a provider may have
// quoted them in.
func withoutKeys(text string, l *spec.LLM) string {
	for _, secret := range []llm.Secret{l.APIKey, l.AWSAccessKeyID, l.AWSSecretAccessKey, l.AWSSessionToken} {
		if len(secret) >= 4 {
			text = strings.ReplaceAll(text, secret.Reveal(), schema.Mask)
		}
	}
	return text
}

func (s *Service) validateLLM(w http.ResponseWriter, r *http.Request, _ string) error {
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
	return rest.JSON(w, http.StatusOK, s.check(r.Context(), l))
}
