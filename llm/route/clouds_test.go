package route_test

import (
	"strings"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/llmtest"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/catalog"
	"github.com/deft-dev/deft/llm/route"
)

func TestGoogle(t *testing.T) {
	t.Setenv("VERTEXAI_PROJECT", "p")
	t.Setenv("VERTEXAI_LOCATION", "global")
	for model, path := range map[string]string{
		"gemini/gemini-2.5-pro":        "/v1beta/models/gemini-2.5-pro:streamGenerateContent",
		"google/gemini-2.5-flash":      "/v1beta/models/gemini-2.5-flash:streamGenerateContent",
		"vertex_ai/gemini-2.5-pro":     "/v1/projects/p/locations/global/publishers/google/models/gemini-2.5-pro:streamGenerateContent",
		"vertex_ai/claude-sonnet-4-5":  "",
		"vertex_ai/claude-opus-4-1@20": "",
	} {
		srv := llmtest.StartWith(t, &llmtest.Script{Turns: []llmtest.Turn{{Reply: llmtest.Reply{Text: "x"}}}}, llmtest.Options{AllowErrors: true})
		m, err := route.Router{Catalog: catalog.Default()}.New(llm.Config{Model: model, BaseURL: srv.URL, APIKey: "k"})
		must.Succeed(t, err)
		prefix, _, _ := strings.Cut(strings.Replace(model, "google/", "gemini/", 1), "/")
		if m.Info().Provider != prefix || !m.Info().Price.Known {
			t.Errorf("model %s: %+v", model, m.Info())
		}
		if path == "" {
			continue // the server does not serve this form
		}
		r := llm.Request{Messages: []event.Message{{Role: event.RoleUser, Content: event.Texts("hi")}}}
		if _, err := llm.Complete(t.Context(), m, r, nil); err != nil {
			t.Fatal(err)
		}
		if got := srv.Requests()[0].Path; got != path {
			t.Errorf("model %s: path %s", model, got)
		}
	}
}

func TestBedrock(t *testing.T) {
	for _, name := range []string{"AWS_BEARER_TOKEN_BEDROCK", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", t.TempDir())
	t.Setenv("AWS_REGION", "us-east-1")
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true") // tests ask no service of their machine
	const model = "bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0"
	if _, err := route.New(llm.Config{Model: "bedrock/"}); fault.KindOf(err) != fault.Invalid {
		t.Errorf("without a name: %v", err)
	}
	// The user's catalogue does not know the name on the wire; the adapter's own facts
	// about the plain one stay.
	m, err := route.Router{Catalog: catalog.Default()}.New(llm.Config{Model: model})
	if err != nil || m.Info().Provider != "bedrock" || m.Info().ContextWindow != 200_000 || !m.Info().PromptCache {
		t.Fatalf("%+v, %v", m, err)
	}
	r := llm.Request{Messages: []event.Message{{Role: event.RoleUser, Content: event.Texts("hi")}}}
	if _, err := llm.Complete(t.Context(), m, r, nil); fault.KindOf(err) != fault.Auth || !strings.Contains(fault.HintOf(err), "AWS_BEARER_TOKEN_BEDROCK") {
		t.Errorf("without keys: %v", err)
	}
}
