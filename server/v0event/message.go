package v0event

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/llm"
)

// messageOf translates a chat message. The content that skills and hooks have added
// for the model is not part of it.
func messageOf(ev *event.MessageEvent) *Event {
	text := event.JoinText(ev.LLMMessage.Content)
	images := []string{}
	for _, c := range ev.LLMMessage.Content {
		if c.Type == event.TypeImage {
			images = append(images, c.ImageURLs...)
		}
	}
	out := action("message", text, map[string]any{
		"content": text, "file_urls": nil, "image_urls": images, "wait_for_response": false, "security_risk": -1,
	})
	if out.Source = sourceOf(ev.Source); out.Source == sourceAgent {
		out.Args["wait_for_response"] = true
	}
	return out
}

// systemOf translates the system prompt.
func systemOf(ev *event.SystemPromptEvent) *Event {
	text := ev.Text()
	tools := make([]any, 0, len(ev.Tools))
	for _, tool := range ev.Tools {
		tools = append(tools, map[string]any{"type": "function", "function": tool.Function()})
	}
	out := action("system", text, map[string]any{
		"content": text, "tools": tools, "openhands_version": nil, "agent_class": nil,
	})
	out.Source = sourceAgent
	return out
}

// acpObservation translates a call that an external agent has made with a tool of its
// own, when it has ended.
func acpObservation(ev *event.ACPToolCallEvent) *Event {
	if ev.Status == nil || *ev.Status != "completed" && *ev.Status != "failed" {
		return nil
	}
	text := string(ev.RawOutput)
	if ev.RawOutput == nil {
		text = string(ev.Content)
	}
	raw, err := json.Marshal(map[string]any{
		"content": []map[string]any{{"type": "text", "text": text}}, "isError": ev.IsError,
	})
	if err != nil {
		return errorObservation(err.Error(), "")
	}
	arguments := any(map[string]any{})
	if ev.RawInput != nil {
		arguments = ev.RawInput
	}
	out := observation("mcp", string(raw), string(raw), map[string]any{"name": ev.Title, "arguments": arguments})
	out.Source = sourceAgent
	return out
}

// Metrics are the usage of a conversation. The lists of single calls, which grow with
// the conversation, are empty.
type Metrics struct {
	AccumulatedCost       float64        `json:"accumulated_cost"`
	MaxBudgetPerTask      *float64       `json:"max_budget_per_task"`
	AccumulatedTokenUsage llm.TokenUsage `json:"accumulated_token_usage"`
	Costs                 []any          `json:"costs"`
	ResponseLatencies     []any          `json:"response_latencies"`
	TokenUsages           []any          `json:"token_usages"`
}

// metricsOf adds up the services of a stats update; nil for any other value.
func metricsOf(up *event.ConversationStateUpdateEvent) *Metrics {
	var stats struct {
		Services map[string]struct {
			Cost   float64         `json:"accumulated_cost"`
			Budget *float64        `json:"max_budget_per_task"`
			Usage  *llm.TokenUsage `json:"accumulated_token_usage"`
		} `json:"usage_to_metrics"`
	}
	if json.Unmarshal(up.Value, &stats) != nil || stats.Services == nil {
		return nil
	}
	m := &Metrics{Costs: []any{}, ResponseLatencies: []any{}, TokenUsages: []any{}}
	for _, name := range slices.Sorted(maps.Keys(stats.Services)) { // in an order, so that the sum is always the same
		s := stats.Services[name]
		m.AccumulatedCost += s.Cost
		m.MaxBudgetPerTask = cmp.Or(m.MaxBudgetPerTask, s.Budget)
		if u, sum := s.Usage, &m.AccumulatedTokenUsage; u != nil {
			sum.Model = u.Model
			sum.PromptTokens += u.PromptTokens
			sum.CompletionTokens += u.CompletionTokens
			sum.CacheReadTokens += u.CacheReadTokens
			sum.CacheWriteTokens += u.CacheWriteTokens
			sum.ReasoningTokens += u.ReasoningTokens
			sum.ContextWindow = max(sum.ContextWindow, u.ContextWindow)
			sum.PerTurnToken = max(sum.PerTurnToken, u.PerTurnToken)
		}
	}
	return m
}
