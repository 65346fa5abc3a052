package route_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/route"
)

// seen is a transport that notes where requests go, and answers with an error.
type seen struct{ urls []string }

func (s *seen) RoundTrip(r *http.Request) (*http.Response, error) {
	s.urls = append(s.urls, r.URL.String())
	return &http.Response{StatusCode: 400, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("{}")), Request: r}, nil
}

func TestProtocols(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		cfg      llm.Config
		provider string
		want     string // the last address asked
	}{
		"gpt-5":                     {llm.Config{Model: "openai/gpt-5.6"}, "openai", "https://api.openai.com/v1/responses"},
		"gpt-6 bare":                {llm.Config{Model: "gpt-6-sol"}, "openai", "https://api.openai.com/v1/responses"},
		"codex":                     {llm.Config{Model: "openai/codex-mini-latest"}, "openai", "https://api.openai.com/v1/responses"},
		"gpt-5 in a region":         {llm.Config{Model: "openai/gpt-5", BaseURL: "https://eu.api.openai.com/v1"}, "openai", "https://eu.api.openai.com/v1/responses"},
		"gpt-5 elsewhere":           {llm.Config{Model: "openai/gpt-5", BaseURL: "https://gateway.example/v1"}, "openai", "https://gateway.example/v1/chat/completions"},
		"gpt-5 elsewhere by wish":   {llm.Config{Model: "openai/gpt-5", BaseURL: "https://gateway.example/v1", API: "responses"}, "openai", "https://gateway.example/v1/responses"},
		"gpt-5 over chat":           {llm.Config{Model: "openai/gpt-5", API: "chat"}, "openai", "https://api.openai.com/v1/chat/completions"},
		"gpt-4o":                    {llm.Config{Model: "openai/gpt-4o", API: "auto"}, "openai", "https://api.openai.com/v1/chat/completions"},
		"a host that only looks so": {llm.Config{Model: "gpt-5", BaseURL: "https://api.openai.com.evil.example/v1"}, "openai_compatible", "https://api.openai.com.evil.example/v1/chat/completions"},
		"proxy":                     {llm.Config{Model: "openhands/gpt-5"}, "openhands", "https://llm-proxy.app.all-hands.dev/v1/chat/completions"},
		"azure":                     {llm.Config{Model: "azure/mine", BaseURL: "https://r.openai.azure.com"}, "azure", "https://r.openai.azure.com/openai/v1/chat/completions"},
		"azure, classic":            {llm.Config{Model: "azure/mine", BaseURL: "https://r.openai.azure.com/", APIVersion: "2024-10-21"}, "azure", "https://r.openai.azure.com/openai/deployments/mine/chat/completions?api-version=2024-10-21"},
		"azure, responses":          {llm.Config{Model: "azure/mine", BaseURL: "https://r.openai.azure.com", API: "responses"}, "azure", "https://r.openai.azure.com/openai/v1/responses"},
		"azure by its address":      {llm.Config{Model: "mine", BaseURL: "https://r.openai.azure.com"}, "azure", "https://r.openai.azure.com/openai/v1/chat/completions"},
		"ollama":                    {llm.Config{Model: "ollama/qwen3:32b"}, "ollama", "http://localhost:11434/api/chat"},
		"ollama_chat":               {llm.Config{Model: "ollama_chat/qwen3:32b", BaseURL: "http://host:1/v1/"}, "ollama", "http://host:1/api/chat"},
		"ollama over chat":          {llm.Config{Model: "ollama/qwen3:32b", API: "chat"}, "ollama", "http://localhost:11434/v1/chat/completions"},
		"llama.cpp":                 {llm.Config{Model: "llama_cpp/any"}, "llama_cpp", "http://localhost:8080/v1/chat/completions"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &seen{}
			tt.cfg.HTTPClient = &http.Client{Transport: s}
			m, err := route.New(tt.cfg)
			must.Succeed(t, err)
			_, err = llm.Complete(t.Context(), m, llm.Request{Messages: []event.Message{{Role: event.RoleUser, Content: event.Texts("hi")}}}, nil)
			if fault.KindOf(err) != fault.Invalid || s.urls[len(s.urls)-1] != tt.want || m.Info().Provider != tt.provider {
				t.Errorf("%v of %s, want %s; %v", s.urls, m.Info().Provider, tt.want, err)
			}
		})
	}
}

func TestUnknownAPI(t *testing.T) {
	t.Parallel()
	if _, err := route.New(llm.Config{Model: "openai/gpt-5", API: "soap"}); fault.KindOf(err) != fault.Invalid || !strings.Contains(fault.HintOf(err), "responses") {
		t.Errorf("%v, hint %q", err, fault.HintOf(err))
	}
	if _, err := route.New(llm.Config{Model: "azure/mine"}); fault.KindOf(err) != fault.Invalid || !strings.Contains(fault.HintOf(err), "--base-url") {
		t.Errorf("azure without an address: %v", err)
	}
}

func TestVariables(t *testing.T) {
	t.Parallel()
	got := [][]string{route.KeyVariables("azure/x"), route.BaseVariables("azure/x"), route.VersionVariables("azure/x"), route.BaseVariables("openai/x"), route.VersionVariables("what")}
	want := [][]string{{"AZURE_API_KEY", "AZURE_OPENAI_API_KEY"}, {"AZURE_API_BASE", "AZURE_OPENAI_ENDPOINT"}, {"AZURE_API_VERSION", "OPENAI_API_VERSION"}, nil, nil}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
