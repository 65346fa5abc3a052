package conversations

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
)

func TestTotal(t *testing.T) {
	t.Parallel()
	budget := 5.0
	for name, c := range map[string]struct {
		stats string
		want  *Metrics
	}{
		"nothing used": {`{"usage_to_metrics":{}}`, nil},
		"one service": {
			`{"usage_to_metrics":{"x":{"model_name":"m","accumulated_cost":0.25,"max_budget_per_task":5,"accumulated_token_usage":{"model":"m","prompt_tokens":3,"per_turn_token":4,"context_window":9}}}}`,
			&Metrics{Model: "m", Cost: 0.25, Budget: &budget, Tokens: &llm.TokenUsage{Model: "m", PromptTokens: 3, PerTurnToken: 4, ContextWindow: 9}},
		},
		"the agent's context": {
			`{"usage_to_metrics":{"agent":{"accumulated_cost":1,"accumulated_token_usage":{"model":"a","prompt_tokens":3,"completion_tokens":1,"per_turn_token":4}},
			  "title":{"accumulated_cost":0.5,"accumulated_token_usage":{"model":"t","prompt_tokens":10,"per_turn_token":11}},"none":{"accumulated_token_usage":null}}}`,
			&Metrics{Model: "default", Cost: 1.5, Tokens: &llm.TokenUsage{Model: "a", PromptTokens: 13, CompletionTokens: 1, PerTurnToken: 4}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var s stats
			must.Succeed(t, json.Unmarshal([]byte(c.stats), &s))
			if diff := cmp.Diff(c.want, s.total()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
