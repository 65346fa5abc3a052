package session_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
)

// TestCallsAreLogged writes each call of an LLM with log_completions into the
// conversation, without secrets, and shows none of it to the model.
func TestCallsAreLogged(t *testing.T) {
	t.Parallel()
	h := setup(t, inTurn(shell("ls"), finished("it is done")), nil)
	r := h.request(t, `"secrets":{"TOKEN":{"kind":"StaticSecret","value":"s3cr3t-value"}}`,
		`"usage_id":"agent"`, `"usage_id":"mine","log_completions":true,"top_k":7`)
	c, _, err := h.Create(t.Context(), r)
	must.Succeed(t, err)
	send(t, c, "list s3cr3t-value")
	settle(t, c)
	want := []string{
		"user: list s3cr3t-value", "running", "LLMCompletionLogEvent", "ActionEvent", "ObservationEvent", "LLMCompletionLogEvent", "ActionEvent", "ObservationEvent", "finished",
	}
	if diff := cmp.Diff(want, h.kinds(t, c.ID())); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	logs := h.logs(t, c.ID())
	for i, l := range logs {
		if l.UsageID != "mine" || l.ModelName != "openai/mock" || !strings.HasPrefix(l.Filename, "openai__mock-") || strings.Contains(l.LogData, "s3cr3t-value") {
			t.Errorf("log %d: %s %s %s\n%s", i, l.UsageID, l.ModelName, l.Filename, l.LogData)
		}
	}
	got := gjson.GetMany(logs[1].LogData, "messages.#", "tools.0.type", "kwargs.top_k", "response.choices.0.message.tool_calls.0.name")
	if got[0].Int() < 4 || got[1].Str != "function" || got[2].Int() != 7 || got[3].Str != "finish" {
		t.Errorf("log: %s", logs[1].LogData)
	}
	for _, m := range h.model.asked[1].Messages {
		if strings.Contains(event.JoinText(m.Content), "kwargs") {
			t.Error("the model is shown the log")
		}
	}
}

// TestFailedCallsAreLogged logs why a call failed.
func TestFailedCallsAreLogged(t *testing.T) {
	t.Parallel()
	h := setup(t, nil, nil)
	h.model.answer = func(context.Context, llm.Request) (*llm.Response, error) {
		return nil, llm.NewError(fault.Auth, "openai", "mock", "wrong key", nil)
	}
	r := h.request(t, "", `"usage_id":"agent"`, `"log_completions":true`)
	c, _, err := h.Create(t.Context(), r)
	must.Succeed(t, err)
	send(t, c, "go")
	settle(t, c)
	logs := h.logs(t, c.ID())
	if len(logs) != 1 || !strings.Contains(gjson.Get(logs[0].LogData, "error").Str, "wrong key") {
		t.Errorf("%d logs: %+v", len(logs), logs)
	}
}

// logs returns the logged calls of a conversation.
func (h *fixture) logs(t *testing.T, id event.ConversationID) []*event.LLMCompletionLogEvent {
	t.Helper()
	return eventsOf[*event.LLMCompletionLogEvent](t, h, id)
}
