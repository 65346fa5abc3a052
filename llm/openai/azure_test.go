package openai_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/openai"
)

func azure(t *testing.T, path, version string, h http.HandlerFunc) *openai.Model {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	m, err := openai.New(llm.Config{Model: "azure/my deployment", Provider: "azure", BaseURL: srv.URL + path, APIVersion: version, APIKey: "k"})
	must.Succeed(t, err)
	return m
}

func TestAzurePaths(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ base, version, want string }{
		"v1":             {"", "", "/openai/v1/chat/completions"},
		"v1 by name":     {"", "v1", "/openai/v1/chat/completions"},
		"preview":        {"", "preview", "/openai/v1/chat/completions?api-version=preview"},
		"v1 given":       {"/openai/v1/", "2024-10-21", "/openai/v1/chat/completions"},
		"classic":        {"/", "2024-10-21", "/openai/deployments/my%20deployment/chat/completions?api-version=2024-10-21"},
		"deployment URL": {"/openai/deployments/d", "2024-10-21", "/openai/deployments/d/chat/completions?api-version=2024-10-21"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := azure(t, c.base, c.version, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.String() != c.want || r.Header.Get("Api-Key") != "k" || r.Header.Get("Authorization") != "" {
					t.Errorf("%s, headers %v", r.URL, r.Header)
				}
				// Azure begins with its filters' verdict on the prompt.
				stream(`{"choices":[],"prompt_filter_results":[{"prompt_index":0,"content_filter_results":{"hate":{"filtered":false}}}]}`,
					delta(`"content":"a"`), finished, "[DONE]")(w, r)
			})
			if _, err := llm.Complete(t.Context(), m, hi(), nil); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestAzureErrors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		body   string
		kind   fault.Kind
		code   string
	}{
		"content filter": {400, `{"error":{"message":"The response was filtered due to the prompt triggering Azure OpenAI's content management policy.","type":null,"param":"prompt","code":"content_filter","status":400,"innererror":{"code":"ResponsibleAIPolicyViolation","content_filter_result":{"jailbreak":{"filtered":true,"detected":true}}}}}`, fault.Content, "content_filter"},
		"no deployment":  {404, `{"error":{"code":"DeploymentNotFound","message":"The API deployment for this resource does not exist."}}`, fault.Invalid, "DeploymentNotFound"},
		"key":            {401, `{"error":{"code":"401","message":"Access denied due to invalid subscription key or wrong API endpoint."}}`, fault.Auth, ""},
		"rate limit":     {429, `{"error":{"code":"429","message":"Requests have exceeded call rate limit of your current OpenAI S0 pricing tier."}}`, fault.RateLimit, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := azure(t, "", "", func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(c.status)
				fmt.Fprint(w, c.body)
			})
			_, err := llm.Complete(t.Context(), m, hi(), nil)
			if e, ok := errors.AsType[*llm.Error](err); !ok || fault.KindOf(err) != c.kind || e.Code != c.code {
				t.Errorf("error %v (%+v)", err, e)
			}
		})
	}
}
