package route_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/route"
)

// TestMissingKey names the models that cannot be called for the lack of a key.
func TestMissingKey(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cfg  llm.Config
		want string
	}{
		"no key":                 {llm.Config{Model: "openai/gpt-5.6"}, "an API key"},
		"no key, a bare name":    {llm.Config{Model: "gpt-6-sol"}, "an API key"},
		"no key for Messages":    {llm.Config{Model: "anthropic/claude-sonnet-5"}, "an API key"},
		"no key for Gemini":      {llm.Config{Model: "gemini/gemini-2.5-pro"}, "an API key"},
		"tools in text":          {llm.Config{Model: "openai/gpt-4o", ToolsInText: true}, "an API key"},
		"a key":                  {llm.Config{Model: "openai/gpt-5.6", APIKey: "k"}, ""},
		"a key in the headers":   {llm.Config{Model: "openai/gpt-5.6", Headers: map[string]string{"Authorization": "Bearer k"}}, ""},
		"another header":         {llm.Config{Model: "openai/gpt-5.6", Headers: map[string]string{"X-Title": "t"}}, "an API key"},
		"a server of one's own":  {llm.Config{Model: "openai/local", BaseURL: "http://127.0.0.1:1/v1"}, ""},
		"on this machine":        {llm.Config{Model: "ollama/qwen3"}, ""},
		"with or without a key":  {llm.Config{Model: "hosted_vllm/qwen3"}, ""},
		"a client that signs in": {llm.Config{Model: "openai/gpt-5.6", HTTPClient: http.DefaultClient}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := route.New(c.cfg)
			must.Succeed(t, err)
			if got := m.Info().Missing; got != c.want {
				t.Errorf("missing %q, want %q", got, c.want)
			}
		})
	}
}

// TestNoRequestWithoutKey calls a model whose requests would go through a proxy that
// counts them.
func TestNoRequestWithoutKey(t *testing.T) {
	var asked atomic.Int32
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer proxy.Close()
	t.Setenv("HTTPS_PROXY", proxy.URL)
	m, err := route.New(llm.Config{Model: "openai/gpt-5.6"})
	must.Succeed(t, err)
	msgs := []event.Message{{Role: event.RoleUser, Content: event.Texts("hi")}}
	_, err = llm.Complete(t.Context(), m, llm.Request{Messages: msgs}, nil)
	if !errors.Is(err, llm.ErrNotSetUp) || !fault.Is(err, fault.Invalid) || fault.HintOf(err) == "" {
		t.Errorf("called: %v", err)
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("%d requests were made", n)
	}
}
