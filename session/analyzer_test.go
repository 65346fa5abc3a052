package session_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/security"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/session/sessiontest"
)

// raters are services that rate commands with "rm" HIGH, for whoever has the key.
type raters struct {
	mu    sync.Mutex
	asked []security.Case
}

func (r *raters) Rate(_ context.Context, s security.Service, c security.Case) (security.Assessment, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, c)
	own, ok := s.Config().(security.HTTP)
	if !ok || security.Key(own.APIKey) != "the-rater-key" {
		return security.Assessment{}, fault.New(fault.Denied, "wrong key")
	}
	if strings.Contains(c.Action.ToolCall.Arguments, "rm ") {
		return security.Assessment{Risk: event.RiskHigh}, nil
	}
	return security.Assessment{Risk: event.RiskLow}, nil
}

// withRaters gives conversations the services.
func (h *fixture) withRaters() *raters {
	r := &raters{}
	h.extend = func(res session.Resources) session.Resources {
		res.(*sessiontest.Resources).Raters = r
		return res
	}
	return r
}

const risky = `"confirmation_policy":{"kind":"ConfirmRisky"},`

// TestAnalyzerService holds that a service rates the actions of a conversation and its
// sub-agents with its key, after a restart too, and that the key is stored nowhere in the clear.
func TestAnalyzerService(t *testing.T) {
	t.Parallel()
	h := setup(t, family(inTurn(shell("ls"), gives("count"), says("1"), shell("rm 2"), says("2"), shell("ls"), says("3")), inTurn(shell("ls"), finished("none"))), nil)
	r := h.withRaters()
	c := h.begin(t, taskTools+","+risky+`"security_analyzer":{"kind":"EnsembleSecurityAnalyzer","analyzers":[`+
		`{"kind":"HTTPSecurityAnalyzer","url":"http://rater","api_key":"the-rater-key"}]}`)
	send(t, c, "begin")
	settle(t, c)
	if got := status(t, c); got != "finished" || len(r.asked) != 3 || len(r.asked[0].History) < 2 {
		t.Fatalf("status %s, asked %v", got, r.asked)
	}
	for _, id := range []event.ConversationID{c.ID(), h.child(t, c).ID()} {
		info, err := h.stream.Info(t.Context(), id)
		must.Succeed(t, err)
		if stored := h.stored(t, id) + string(info.Meta.Extra) + string(info.Meta.Summary); strings.Contains(stored, "the-rater-key") {
			t.Errorf("the key is stored: %s", stored)
		}
	}
	if shown := describe(t, c); !strings.Contains(shown, `"api_key":"**********"`) {
		t.Errorf("shown as %s", shown)
	}
	h.restart(t)
	c = h.get(t, c.ID())
	send(t, c, "remove")
	settle(t, c)
	if got := status(t, c); got != "waiting_for_confirmation" || len(r.asked) != 4 {
		t.Errorf("status %s, asked %d times", got, len(r.asked))
	}
	must.Succeed(t, c.Confirmation().Respond(t.Context(), true, ""))
	settle(t, c)
	// A wrong key fails, and a person is asked.
	must.Succeed(t, c.Confirmation().SetAnalyzer(t.Context(), []byte(`{"kind":"HTTPSecurityAnalyzer","url":"http://rater","api_key":"another"}`)))
	send(t, c, "list")
	settle(t, c)
	last := eventsOf[*event.SecurityAnalysisEvent](t, h, c.ID())
	if got := last[len(last)-1]; status(t, c) != "waiting_for_confirmation" || !strings.Contains(string(got.Details[onlyKey(got.Risks)]), "wrong key") {
		t.Errorf("with a wrong key: status %s, %s", status(t, c), got.Details)
	}
}

func onlyKey(m event.Map[event.Risk]) string {
	for k := range m {
		return k
	}
	return ""
}

// TestGuardrail has a second model rate the actions of the first one. Its use is counted.
func TestGuardrail(t *testing.T) {
	t.Parallel()
	h := setup(t, inTurn(shell("ls"), shell("rm x"), says("done")), nil)
	guard := &model{name: "openai/guard", answer: func(_ context.Context, r llm.Request) (*llm.Response, error) {
		_, rated, _ := strings.Cut(lastText(r), "## The action to rate")
		if strings.Contains(rated, "rm x") {
			return says("RISK: HIGH\nIt removes."), nil
		}
		return says("RISK: LOW"), nil
	}}
	h.models["openai/guard"] = guard
	c := h.begin(t, risky+`"security_analyzer":{"kind":"ToolShieldLLMSecurityAnalyzer","llm":{"model":"openai/guard","api_key":"the-guard-key","usage_id":"guard"}}`)
	send(t, c, "begin")
	settle(t, c)
	if got := status(t, c); got != "waiting_for_confirmation" || guard.calls() != 2 {
		t.Errorf("status %s, %d calls", got, guard.calls())
	}
	if stored := h.stored(t, c.ID()); strings.Contains(stored, "the-guard-key") || !strings.Contains(stored, "It removes.") || !strings.Contains(describe(t, c), `"guard":`) {
		t.Errorf("stored %s", stored)
	}
}
