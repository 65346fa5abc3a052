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
	if err := b.Send(t.Context(), event.NewUserMessage("go")); err != nil {
		t.Fatal(err)
	}
	if err := b.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	var got controller.Retry
	if err := json.Unmarshal(b.State().Fields[controller.KeyRetry], &got); err != nil {
		t.Fatal(err)
	}
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
	if err := b.Send(t.Context(), event.NewUserMessage("go")); err != nil {
		t.Fatal(err)
	}
	if err := b.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	m := b.State().Stats.UsageToMetrics[agent.UsageAgent]
	want := event.List[llm.LatencyEntry]{{Model: "openai/other", Latency: 2, ResponseID: "r", FirstToken: 0.5, AnsweredBy: "other-2026-01-01"}}
	if diff := cmp.Diff(want, m.ResponseLatencies); diff != "" || m.ModelName != "openai/other" || m.TokenUsages[0].ContextWindow != 7 {
		t.Errorf("%+v %s", m, diff)
	}
}

func TestRecordModel(t *testing.T) {
	t.Parallel()
	b := setup(t, nil, nil)
	for i, tt := range []struct {
		model   string
		changed bool
	}{{"a", true}, {"a", false}, {"b", true}, {"b", false}} {
		changed, err := b.RecordModel(t.Context(), tt.model, "agent")
		if err != nil || changed != tt.changed {
			t.Errorf("%d: %v, %v", i, changed, err)
		}
	}
	if got := string(b.State().Fields[controller.KeyAgent]); got != `{"kind":"Agent","llm":{"model":"b","usage_id":"agent"}}` {
		t.Error(got)
	}
	// The agent as another program stored it stays, except its model.
	up, err := event.NewStateUpdate(controller.KeyAgent, json.RawMessage(`{"kind":"Agent","llm":{"model":"x","base_url":"http://x"},"tools":[1]}`))
	if err != nil {
		t.Fatal(err)
	}
	null, err := event.NewStateUpdate(controller.KeyAgent, nil)
	if err != nil {
		t.Fatal(err)
	}
	for want, ev := range map[string]event.Event{
		`{"kind":"Agent","llm":{"model":"y","usage_id":"agent"},"tools":[1]}`: up,
		`{"kind":"Agent","llm":{"model":"y","usage_id":"agent"}}`:             null,
	} {
		if _, err := b.stream.Append(t.Context(), b.cfg.ID, ev); err != nil {
			t.Fatal(err)
		}
		b.reopen(t)
		if _, err := b.RecordModel(t.Context(), "y", "agent"); err != nil {
			t.Fatal(err)
		}
		if got := string(b.State().Fields[controller.KeyAgent]); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
