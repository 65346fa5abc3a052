package controller_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/agent"
	"github.com/deft-dev/deft/controller"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
)

// TestRetriesAreEvents records a retry from inside a call of the model, as a
// broker does, while a step runs.
func TestRetriesAreEvents(t *testing.T) {
	t.Parallel()
	var b *bundle
	b = setup(t, nil, func(ctx context.Context, n int, _ llm.Request) (*llm.Response, error) {
		failed := llm.NewError(fault.RateLimit, "p", "m", "slow down", nil)
		if err := b.RecordRetry(ctx, controller.Retry{UsageID: agent.UsageAgent, Model: "m", Attempt: 1, Attempts: 5, Wait: 8}, failed); err != nil {
			return nil, err
		}
		// It is there while the call still waits.
		if raw := b.State().Fields[controller.KeyRetry]; len(raw) == 0 {
			return nil, errors.New("the retry is not in the state")
		}
		return done(), nil
	})
	must.Succeed(t, b.Send(t.Context(), event.NewUserMessage("go")))
	must.Succeed(t, b.Run(t.Context()))
	var got controller.Retry
	must.Succeed(t, json.Unmarshal(b.State().Fields[controller.KeyRetry], &got))
	want := controller.Retry{UsageID: "agent", Model: "m", Attempt: 1, Attempts: 5, Wait: 8, Code: "LLMRateLimitError", Detail: got.Detail}
	if diff := cmp.Diff(want, got); diff != "" || got.Detail == "" || b.State().Status != "finished" {
		t.Errorf("%s, detail %q: %s", b.State().Status, got.Detail, diff)
	}
}

// TestWhoAnsweredIsMetered counts an answer for the model that gave it, with the
// time to its first token and the provider's name for it.
func TestWhoAnsweredIsMetered(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, func(context.Context, int, llm.Request) (*llm.Response, error) {
		r := done()
		r.ID, r.Model, r.Latency, r.FirstByte = "r", "other-2026-01-01", 2*time.Second, time.Second/2
		r.Served = &llm.Info{Name: "openai/other", ContextWindow: 7}
		return r, nil
	})
	must.Succeed(t, b.Send(t.Context(), event.NewUserMessage("go")))
	must.Succeed(t, b.Run(t.Context()))
	m := b.State().Stats.UsageToMetrics[agent.UsageAgent]
	want := event.List[llm.LatencyEntry]{{Model: "openai/other", Latency: 2, ResponseID: "r", FirstToken: 0.5, AnsweredBy: "other-2026-01-01"}}
	if diff := cmp.Diff(want, m.ResponseLatencies); diff != "" || m.ModelName != "openai/other" || m.TokenUsages[0].ContextWindow != 7 {
		t.Errorf("%+v %s", m, diff)
	}
}
