package acpmodels_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/deft-dev/deft/agent"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/server/agentserver/acpmodels"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/spec"
)

// discover answers in the place of a program.
type discover func(fields *spec.ACP, secrets map[string]string) (spec.ACPDiscovery, error)

// serve returns a function that sends a request.
func serve(t *testing.T, d discover) func(body string) (int, string) {
	t.Helper()
	routes := acpmodels.New(acpmodels.Options{
		Discover: func(_ context.Context, f *spec.ACP, secrets map[string]string, _ func(string) string) (spec.ACPDiscovery, error) {
			return d(f, secrets)
		},
		Secret: func(_ context.Context, url string) (string, bool) {
			return "st0red", strings.HasSuffix(url, "/api/settings/secrets/KEY")
		},
		BaseURL: "http://here",
	}).Routes()
	server, err := rest.New(rest.Options{Routes: routes, Keys: func() []string { return nil }})
	must.Succeed(t, err)
	h := httptest.NewServer(server)
	t.Cleanup(h.Close)
	return func(body string) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), "POST", h.URL+"/api/acp/models", strings.NewReader(body))
		must.Succeed(t, err)
		resp, err := http.DefaultClient.Do(req)
		must.Succeed(t, err)
		defer resp.Body.Close()
		raw, err := io.ReadAll(resp.Body)
		must.Succeed(t, err)
		return resp.StatusCode, string(raw)
	}
}

const custom = `"agent_settings":{"agent_kind":"acp","acp_server":"custom","acp_command":["mine"],"acp_model":"large","acp_session_mode":"auto"}`

// TestKept asks a program once for the same settings and secrets, and again where the client wants it.
func TestKept(t *testing.T) {
	t.Parallel()
	name, asked := "mine", []string{}
	ask := serve(t, func(f *spec.ACP, secrets map[string]string) (spec.ACPDiscovery, error) {
		if f.Model != nil || f.SessionMode != nil {
			t.Errorf("started with the model %v and the mode %v", f.Model, f.SessionMode)
		}
		asked = append(asked, strings.Join(f.Command, " ")+" "+secrets["KEY"])
		return spec.ACPDiscovery{Name: &name, Models: []spec.ACPModelInfo{{ID: "a", Name: "A"}}, Switches: true}, nil
	})
	const want = `{"agent_name":"mine","agent_version":null,"available_models":[{"model_id":"a","name":"A"}],"current_model_id":null,"supports_runtime_model_switch":true,"error":null}`
	for _, body := range []string{
		`{` + custom + `}`,
		`{` + custom + `,"refresh":false}`,
		`{` + custom + `,"refresh":true}`,
		`{` + custom + `,"secrets":{"KEY":"one"}}`,
		`{` + custom + `,"secrets":{"KEY":{"kind":"StaticSecret","value":"one"}}}`,
		`{` + custom + `,"secrets":{"KEY":{"kind":"LookupSecret","url":"http://here/api/settings/secrets/KEY"}}}`,
	} {
		if status, got := ask(body); status != 200 || got != want {
			t.Errorf("%s: %d %s", body, status, got)
		}
	}
	if got := strings.Join(asked, ", "); got != "mine , mine , mine one, mine st0red" {
		t.Errorf("asked %s", got)
	}
}

// TestFailures holds that a program that cannot start is an answer without secrets, which is not kept.
func TestFailures(t *testing.T) {
	t.Parallel()
	times := 0
	ask := serve(t, func(*spec.ACP, map[string]string) (spec.ACPDiscovery, error) {
		times++
		if times > 2 {
			return spec.ACPDiscovery{}, fault.New(fault.Unsupported, "no trials here")
		}
		return spec.ACPDiscovery{}, &agent.Failure{Code: "ACPAuthRequired", Err: errors.New("the key s3cr3t-key is refused")}
	})
	body := `{` + custom + `,"secrets":{"KEY":"s3cr3t-key"}}`
	for range 2 {
		status, got := ask(body)
		if status != 200 || !strings.Contains(got, `"available_models":[]`) || !strings.Contains(got, `"code":"ACPAuthRequired"`) || strings.Contains(got, "s3cr3t-key") {
			t.Errorf("%d %s", status, got)
		}
	}
	if status, got := ask(body); status != 501 || times != 3 {
		t.Errorf("where there are no trials: %d %s after %d times", status, got, times)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	ask := serve(t, func(*spec.ACP, map[string]string) (spec.ACPDiscovery, error) {
		t.Error("a wrong request starts a program")
		return spec.ACPDiscovery{}, nil
	})
	for _, body := range []string{
		`{}`, `{"agent_settings":1}`, `{"agent_settings":{"agent_kind":"acp","acp_server":"custom"}}`, `{"agent_settings":{"agent_kind":"acp","acp_command":"text"}}`,
		`{` + custom + `,"refresh":"perhaps"}`, `{` + custom + `,"secrets":{"KEY":{"kind":"Cave"}}}`,
	} {
		if status, got := ask(body); status != 422 {
			t.Errorf("%s: %d %s", body, status, got)
		}
	}
}
