package route_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/llmtest"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/route"
)

// asked is the request that arrives at a provider's server in answer to r, as the
// JSON of the body; "" where the call was refused before.
func asked(t *testing.T, cfg llm.Config, r llm.Request) (string, error) {
	t.Helper()
	srv := llmtest.Start(t, &llmtest.Script{Lenient: true, Turns: []llmtest.Turn{{Reply: llmtest.Reply{Text: "x"}}}})
	cfg.BaseURL, cfg.APIKey = srv.URL+"/v1", "k"
	if strings.HasPrefix(cfg.Model, "gemini/") {
		cfg.BaseURL = srv.URL
	}
	m, err := route.New(cfg)
	must.Succeed(t, err)
	r.Messages = []event.Message{{Role: event.RoleUser, Content: event.Texts("hi")}}
	if _, err := llm.Complete(t.Context(), m, r, nil); err != nil {
		return "", err
	}
	return srv.Requests()[0].Body, nil
}

// fields picks fields of a body by their paths.
func fields(body string, paths ...string) map[string]string {
	out := map[string]string{}
	for _, p := range paths {
		if v := gjson.Get(body, p); v.Exists() {
			out[p] = v.Raw
		}
	}
	return out
}

// TestSampling sends top_k and a seed with each protocol, as OpenHands does.
func TestSampling(t *testing.T) {
	t.Parallel()
	paths := []string{"top_k", "seed", "random_seed", "generationConfig.topK", "generationConfig.seed"}
	both := map[string]string{"top_k": "7", "seed": "0"}
	for model, c := range map[string]struct {
		want  map[string]string
		keeps string // parameters that are refused where parameters are to be kept
	}{
		"openai/my-own":            {both, ""},
		"litellm_proxy/x":          {both, ""},
		"vllm/x":                   {both, ""},
		"openrouter/x/y":           {both, ""},
		"groq/x":                   {both, ""},
		"azure/gpt-4o":             {map[string]string{"seed": "0"}, "top_k"},
		"mistral/x":                {map[string]string{"random_seed": "0"}, "top_k"},
		"zai/glm-4.6":              {map[string]string{"top_k": "7"}, "seed"},
		"anthropic/claude-3-haiku": {map[string]string{"top_k": "7"}, "seed"},
		"gemini/gemini-2.5-flash":  {map[string]string{"generationConfig.topK": "7", "generationConfig.seed": "0"}, ""},
	} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			k, seed := 7, 0
			r := llm.Request{TopK: &k, Seed: &seed}
			body, err := asked(t, llm.Config{Model: model}, r)
			must.Succeed(t, err)
			if diff := cmp.Diff(c.want, fields(body, paths...)); diff != "" {
				t.Errorf("sent (-want +got):\n%s", diff)
			}
			if body, err = asked(t, llm.Config{Model: model, Quirks: &llm.Quirks{NoSampling: true}}, r); err != nil || gjson.Get(body, "top_k").Exists() {
				t.Errorf("a model without sampling is sent %s, %v", body, err)
			}
			_, err = asked(t, llm.Config{Model: model, KeepParameters: true}, r)
			if refused := fault.Is(err, fault.Invalid) && strings.Contains(err.Error(), c.keeps); refused != (c.keeps != "") || err != nil && !refused {
				t.Errorf("where parameters are kept: %v, want %q refused", err, c.keeps)
			}
		})
	}
}

// TestResponsesHaveNoSampling checks that parameters that Responses does not
// support are dropped without an error, as in OpenHands.
func TestResponsesHaveNoSampling(t *testing.T) {
	t.Parallel()
	k, seed := 7, 3
	body, err := asked(t, llm.Config{Model: "openai/gpt-4o", API: llm.APIResponses, KeepParameters: true}, llm.Request{TopK: &k, Seed: &seed})
	if got := fields(body, "top_k", "seed"); err != nil || len(got) != 0 {
		t.Errorf("sent %v, %v", got, err)
	}
}

// TestExtraBody adds fields to the bodies of each protocol.
func TestExtraBody(t *testing.T) {
	t.Parallel()
	extra := map[string]json.RawMessage{}
	for name, v := range map[string]string{
		"tags": `["a","<b>"]`, "nothing": `null`, "temperature": `1.5`, "metadata": `{"user_id":"u"}`,
		"generationConfig": `{"extra":1}`,
		// The conversation's own fields are not theirs.
		"model": `"evil"`, "stream": `false`, "messages": `[]`, "input": `[]`, "contents": `[]`, "tools": `[]`,
		"system": `"evil"`, "instructions": `"evil"`, "systemInstruction": `{}`,
	} {
		extra[name] = json.RawMessage(v)
	}
	for model, api := range map[string]string{
		"openai/my-own": llm.APIChat, "openai/gpt-4o": llm.APIResponses, "anthropic/claude-3-haiku": "", "gemini/gemini-2.5-flash": "",
	} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			half := 0.5
			body, err := asked(t, llm.Config{Model: model, API: api, ExtraBody: extra}, llm.Request{
				Temperature: &half, Tools: []llm.Tool{{Name: "look", Parameters: json.RawMessage(`{"type":"object","properties":{}}`)}},
			})
			must.Succeed(t, err)
			want := map[string]string{"tags": `["a","<b>"]`, "nothing": "null", "temperature": "1.5", "metadata": `{"user_id":"u"}`, "generationConfig.extra": "1"}
			if strings.HasPrefix(model, "gemini/") { // joined with the existing ones
				want["generationConfig.temperature"] = "0.5"
			}
			got := fields(body, "tags", "nothing", "temperature", "metadata", "generationConfig.extra", "generationConfig.temperature")
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("sent (-want +got):\n%s", diff)
			}
			if strings.Contains(body, "evil") || !strings.Contains(body, `"hi"`) || !strings.Contains(body, `"look"`) || strings.Contains(body, `"stream":false`) {
				t.Errorf("the conversation was changed: %s", body)
			}
		})
	}
}

// TestThinkingBudget checks that an explicit budget is sent to models with
// thinking budgets, for any effort except none.
func TestThinkingBudget(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		model, effort string
		budget, limit int
		want          string
	}{
		"by effort":          {"anthropic/claude-sonnet-4-5", "low", 0, 0, "4096"},
		"chosen":             {"anthropic/claude-sonnet-4-5", "low", 9_000, 0, "9000"},
		"too little":         {"anthropic/claude-sonnet-4-5", "low", 5, 0, "1024"},
		"no effort":          {"anthropic/claude-sonnet-4-5", "none", 9_000, 0, ""},
		"adaptive":           {"anthropic/claude-opus-4-6", "low", 9_000, 0, ""},
		"a proxy":            {"litellm_proxy/claude-sonnet-4-5", "low", 9_000, 0, "9000"},
		"a proxy, bounded":   {"litellm_proxy/claude-sonnet-4-5", "low", 9_000, 8_000, "7999"},
		"a proxy, by itself": {"litellm_proxy/claude-sonnet-4-5", "low", 0, 0, ""},
	} {
		body, err := asked(t, llm.Config{Model: c.model}, llm.Request{ReasoningEffort: c.effort, ThinkingBudget: c.budget, MaxOutputTokens: c.limit})
		if got := gjson.Get(body, "thinking.budget_tokens").Raw; err != nil || got != c.want {
			t.Errorf("%s: %q, want %q (%v)", name, got, c.want, err)
		}
	}
}
