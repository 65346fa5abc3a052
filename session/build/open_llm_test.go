package build_test

import (
	"log/slog"
	"testing"

	"github.com/deft-dev/deft/controller"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/keyring"
	"github.com/deft-dev/deft/internal/llmtest"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/session/build"
	"github.com/deft-dev/deft/settings/profiles"
	"github.com/deft-dev/deft/spec"
)

// TestFallbackOfASavedLLM opens an LLM as a conversation of the agent server
// does: its first endpoint is down, and the profile that it names answers.
func TestFallbackOfASavedLLM(t *testing.T) {
	t.Parallel()
	down := llmtest.Start(t, &llmtest.Script{Turns: []llmtest.Turn{{Repeat: llmtest.Forever, Fault: &llmtest.Fault{Kind: llmtest.ServerError}}}})
	up := llmtest.Start(t, &llmtest.Script{Turns: []llmtest.Turn{{Repeat: llmtest.Forever, Reply: llmtest.Reply{Text: "from the other"}}}})
	at := func(url string) *spec.LLM {
		l := spec.NewLLM("vllm/x")
		base := url + "/v1"
		l.BaseURL, l.NumRetries = &base, 1
		return l
	}
	stores := profiles.Open(profiles.Options{Dir: t.TempDir(), Keys: keyring.New("k")})
	first := at(down.URL)
	first.Extras().Fallback = []string{"other"}
	for name, l := range map[string]*spec.LLM{"first": first, "other": at(up.URL)} {
		must.Succeed(t, stores.LLMs.SaveProfile(t.Context(), name, profiles.Profile{LLM: l}))
	}
	l, err := stores.LLMs.Load(t.Context(), "first")
	must.Succeed(t, err)
	l.UsageID = "agent"
	var next []string
	models := build.NewModels(slog.New(slog.DiscardHandler), func() (*profiles.Stores, error) { return stores, nil })
	m, err := models.Open(l, session.ModelOptions{Retried: func(r controller.Retry, _ error) {
		next = append(next, r.UsageID+": "+r.Next)
	}})
	must.Succeed(t, err)
	r := llm.Request{Messages: []event.Message{{Role: event.RoleUser, Content: event.Texts("?")}}}
	resp, err := llm.Complete(t.Context(), m, r, nil)
	if err != nil || event.JoinText(resp.Message.Content) != "from the other" {
		t.Fatalf("%v %v", resp, err)
	}
	if len(next) == 0 || next[len(next)-1] != "agent: vllm/x" {
		t.Errorf("the switch was not recorded: %v", next)
	}
}
