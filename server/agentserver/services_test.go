package agentserver

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/route"
	"github.com/deft-dev/deft/spec"
)

// routing opens models with the adapters of this build.
type routing struct{ Adapters }

func (routing) NewModel(c llm.Config) (llm.Model, error) { return route.New(c) }
func (routing) Providers() []string                      { return route.Prefixes() }

// TestPing names the mistake in the settings of a model at a server that does not
// exist: the server, or the model's name where no provider has it.
func TestPing(t *testing.T) {
	t.Parallel()
	down := httptest.NewServer(http.NotFoundHandler())
	down.Close()
	s := &services{adapters: routing{}}
	for model, want := range map[string]fault.Kind{
		"nosuchprovider/x": fault.Invalid, "nosuchprovider/gpt-4o": fault.Invalid, "unheard-of": fault.Invalid,
		"openai/x": fault.Unavailable, "OpenAI/x": fault.Unavailable, "gpt-4o": fault.Unavailable, "anthropic/x": fault.Unavailable,
	} {
		l := spec.NewLLM(model)
		l.BaseURL, l.APIKey = &down.URL, "a key"
		l.NumRetries = 0
		if err := Pinger(s.adapters)(context.Background(), l); fault.KindOf(err) != want {
			t.Errorf("%s: %v, want kind %s", model, err, want)
		}
	}
}
