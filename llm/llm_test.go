package llm_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
)

func TestSecretNeverShows(t *testing.T) {
	t.Parallel()
	s := llm.Secret("sk-very-secret")
	b, err := json.Marshal(map[string]any{"key": s, "config": llm.Config{APIKey: s}})
	must.Succeed(t, err)
	shown := fmt.Sprintf("%s %v %+v %#v %q %s", s, s, llm.Config{APIKey: s}, llm.Config{APIKey: s}, s, b)
	if strings.Contains(shown, "very") {
		t.Errorf("the secret shows: %s", shown)
	}
	if s.Reveal() != "sk-very-secret" {
		t.Error("Reveal does not return the value")
	}
}

func TestErrorKeepsKindAndHint(t *testing.T) {
	t.Parallel()
	cause := errors.New("cause")
	err := fmt.Errorf("call: %w", llm.NewError(fault.Auth, "openai", "m", "no", cause).Hint("set a key"))
	if fault.KindOf(err) != fault.Auth || !errors.Is(err, cause) {
		t.Errorf("kind %s of %v", fault.KindOf(err), err)
	}
}

func TestCost(t *testing.T) {
	t.Parallel()
	p := llm.Price{Known: true, Input: 3, CacheRead: 0.3, CacheWrite: 3.75, Output: 15}
	got, known := p.Cost(llm.Usage{Prompt: 1_000_000, CacheRead: 400_000, CacheWrite: 200_000, Output: 100_000})
	if want := 1.2 + 0.12 + 0.75 + 1.5; !known || got < want-1e-9 || got > want+1e-9 {
		t.Errorf("cost %v %v, want %v", got, known, want)
	}
	if _, known := (llm.Price{}).Cost(llm.Usage{Prompt: 1}); known {
		t.Error("the cost of an unknown price is known")
	}
}

func TestEffortFor(t *testing.T) {
	t.Parallel()
	some := llm.Quirks{Effort: true, Efforts: []string{"low", "medium", "high"}}
	for _, tt := range []struct {
		q            llm.Quirks
		wanted, want string
	}{
		{llm.Quirks{}, "high", ""}, {some, "", ""}, {some, "xhigh", "high"}, {some, "none", "low"},
		{some, "medium", "medium"}, {llm.Quirks{Effort: true}, "xhigh", "xhigh"},
	} {
		if got := tt.q.EffortFor(tt.wanted); got != tt.want {
			t.Errorf("EffortFor(%q) of %v = %q, want %q", tt.wanted, tt.q, got, tt.want)
		}
	}
}

func TestEstimateIsASum(t *testing.T) {
	t.Parallel()
	msgs := []event.Message{user("Fix the failing test."), says("ok", call("a", "terminal")), result("a", "日本語のテキスト")}
	tools := []llm.Tool{{Name: "terminal", Parameters: json.RawMessage(`{"type":"object"}`)}}
	sum := llm.EstimateTool(&tools[0])
	for i := range msgs {
		sum += llm.EstimateMessage(&msgs[i])
	}
	if got := llm.EstimateTokens(msgs, tools); got != sum || got < 20 {
		t.Errorf("EstimateTokens = %d, parts %d", got, sum)
	}
	if got := llm.EstimateText("日本語"); got != 3 {
		t.Errorf("three CJK characters are %d tokens", got)
	}
	image := event.Message{Role: event.RoleUser, Content: event.List[event.Content]{event.Image("data:image/png;base64," + strings.Repeat("A", 1<<20))}}
	if got := llm.EstimateMessage(&image); got > 2_000 {
		t.Errorf("an image is %d tokens", got)
	}
}

func TestMetricsWire(t *testing.T) {
	t.Parallel()
	var m llm.Metrics
	info := llm.Info{Name: "openai/x", ContextWindow: 1000}
	at := time.Unix(1_700_000_000, 500_000_000)
	m.Add(info, &llm.Response{ID: "r1", Model: "x", Usage: llm.Usage{Prompt: 10, Output: 5, CacheRead: 4, CacheWrite: 1, Reasoning: 2}, Cost: 0.5, CostKnown: true, Latency: 1500 * time.Millisecond}, at)
	m.Add(info, &llm.Response{ID: "r2", Model: "x-0123", Usage: llm.Usage{Prompt: 20, Output: 1}, Latency: time.Second, FirstByte: time.Second / 4}, at)
	b, err := json.Marshal(m)
	must.Succeed(t, err)
	want := `{"model_name":"openai/x","accumulated_cost":0.5,"max_budget_per_task":null,` +
		`"accumulated_token_usage":{"model":"openai/x","prompt_tokens":30,"completion_tokens":6,"cache_read_tokens":4,"cache_write_tokens":1,"reasoning_tokens":2,"context_window":1000,"per_turn_token":21,"response_id":""},` +
		`"costs":[{"model":"openai/x","cost":0.5,"timestamp":1700000000.5}],` +
		`"response_latencies":[{"model":"openai/x","latency":1.5,"response_id":"r1"},{"model":"openai/x","latency":1,"response_id":"r2","first_token":0.25,"answered_by":"x-0123"}],` +
		`"token_usages":[{"model":"openai/x","prompt_tokens":10,"completion_tokens":5,"cache_read_tokens":4,"cache_write_tokens":1,"reasoning_tokens":2,"context_window":1000,"per_turn_token":15,"response_id":"r1"},` +
		`{"model":"openai/x","prompt_tokens":20,"completion_tokens":1,"cache_read_tokens":0,"cache_write_tokens":0,"reasoning_tokens":0,"context_window":1000,"per_turn_token":21,"response_id":"r2"}]}`
	if diff := cmp.Diff(want, string(b)); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}
