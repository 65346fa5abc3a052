package settings

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/internal/must"
)

// TestFindLocal: the models of programs that answer as they should are found, and whatever
// else listens there is left out.
func TestFindLocal(t *testing.T) {
	t.Parallel()
	answer := func(status int, body string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	ollama := answer(http.StatusOK, `{"models":[{"name":"qwen3:8b"},{"name":"nomic-embed-text:latest"},{"name":"all-minilm:33m"},{"name":""},{"name":"a b"},{"name":"`+strings.Repeat("x", 300)+`"}]}`)
	vllm := answer(http.StatusOK, `{"data":[{"id":"org/m","owned_by":"vllm"},{"id":"openhands_x","owned_by":"openhands"}]}`)
	got := findLocal(t.Context(), &http.Client{Timeout: localTimeout}, []server{
		{"Ollama", ollama, "/api/tags", "ollama/", "", ollamaModels},
		{"LM Studio", answer(http.StatusOK, "<html>"), "/v1/models", "openai/", "/v1", openAIModels("")},
		{"vLLM", vllm, "/v1/models", "openai/", "/v1", openAIModels("vllm")},
		{"wrong", answer(http.StatusTeapot, `{"data":[{"id":"m"}]}`), "/v1/models", "openai/", "/v1", openAIModels("")},
		{"gone", gone.URL, "/v1/models", "openai/", "/v1", openAIModels("")},
	})
	want := []localModel{{"Ollama", "ollama/qwen3:8b", ollama}, {"vLLM", "openai/org/m", vllm + "/v1"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestLocalServers: nothing but this machine is asked.
func TestLocalServers(t *testing.T) {
	t.Parallel()
	for _, s := range localServers {
		u, err := url.Parse(s.address)
		must.Succeed(t, err)
		if at, err := netip.ParseAddrPort(u.Host); err != nil || !at.Addr().IsLoopback() {
			t.Errorf("%s is asked at %s: %v", s.name, s.address, err)
		}
	}
}
