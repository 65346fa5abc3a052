package modeltest

import (
	"strconv"
	"strings"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/llmtest"
)

// History returns a conversation of an adapter with everything that providers
// sign or encrypt: reasoning, redacted reasoning, calls after reasoning, and an
// answer with reasoning.
func History(t *testing.T, a Adapter) []event.Message {
	t.Helper()
	b := start(t, a, true, &llmtest.Script{Turns: []llmtest.Turn{
		{Reply: llmtest.Reply{Reasoning: "Two looks.", RedactedReasoning: "b3BhcXVl", Text: "Looking.", ToolCalls: []llmtest.ToolCall{
			{Name: "terminal", Arguments: map[string]any{"command": "ls"}}, {Name: "terminal", Arguments: map[string]any{"command": "pwd"}},
		}}},
		{Reply: llmtest.Reply{Reasoning: "Once more.", ToolCalls: []llmtest.ToolCall{{Name: "finish"}}}},
		{Reply: llmtest.Reply{Reasoning: "That is all.", Text: "Done."}},
	}})
	r := hello()
	r.Tools, r.ReasoningEffort = tools, "high"
	for range 3 {
		said := b.must(r).resp.Message
		r.Messages = append(r.Messages, said)
		for _, c := range said.ToolCalls {
			r.Messages = append(r.Messages, event.Message{Role: event.RoleTool, ToolCallID: c.ID, Name: c.Name, Content: event.Texts("result")})
		}
	}
	return r.Messages
}

// SwitchProvider continues a conversation of another provider with an adapter:
// after its end, and in the middle of a turn. The server refuses an invalid
// history; own is false if nothing may be sent that the other provider signed
// or encrypted.
func SwitchProvider(t *testing.T, a Adapter, history []event.Message, own bool) {
	t.Helper()
	var foreign []string
	if !own {
		foreign = Secrets(history)
	}
	for _, effort := range []string{"", "high"} {
		b := start(t, a, true, &llmtest.Script{Turns: []llmtest.Turn{
			{Reply: llmtest.Reply{Text: "in the middle"}}, {Reply: llmtest.Reply{Text: "at the end"}},
		}})
		for i, want := range []string{"in the middle", "at the end"} {
			r := hello()
			r.Tools, r.ReasoningEffort = tools, effort
			if i == 0 {
				r.Messages = history[:len(history)-1]
			} else {
				r.Messages = append(history[:len(history):len(history)], event.Message{Role: event.RoleUser, Content: event.Texts("And now?")})
			}
			if got := b.must(r).text; got != want {
				t.Errorf("effort %q: %q, want %q", effort, got, want)
			}
		}
		for _, req := range b.srv.Requests() {
			for _, secret := range foreign {
				if strings.Contains(req.Body, secret) {
					t.Errorf("effort %q: %q of the other provider was sent", effort, secret)
				}
			}
		}
	}
}

// Secrets returns the parts of a history that its provider signed or encrypted,
// as in a body.
func Secrets(history []event.Message) []string {
	var out []string
	add := func(s string) {
		if _, rest, ok := strings.Cut(s, ":"); ok && !strings.HasPrefix(s, "{") { // an adapter's mark
			s = rest
		}
		if s != "" {
			out = append(out, strings.Trim(strconv.Quote(s), `"`))
		}
	}
	for i := range history {
		m := &history[i]
		for _, b := range m.ThinkingBlocks {
			add(b.Signature)
			add(b.Data)
			if b.Signature == "" && b.Type != event.TypeRedacted && m.ReasoningContent != b.Thinking {
				add(b.Thinking) // a signature in place of the reasoning
			}
		}
		if item := m.ResponsesReasoningItem; item != nil {
			add(item.EncryptedContent)
			add(item.ID)
		}
		for _, c := range m.ToolCalls {
			add(c.ResponsesItemID)
		}
	}
	return out
}

// Details is a conversation over OpenRouter with models whose signatures no
// other provider accepts.
func Details() []event.Message {
	h := hello().Messages
	block := func(data string) event.List[event.ThinkingBlock] {
		return event.List[event.ThinkingBlock]{{Type: event.TypeRedacted, Data: data}}
	}
	return append(h,
		event.Message{Role: event.RoleAssistant, ReasoningContent: "Hm.", ThinkingBlocks: block(`{"type":"reasoning.encrypted","data":"b3BhcXVl","format":"openai-responses-v1"}`),
			ToolCalls: []event.ToolCall{{ID: "functions.terminal:0", Name: "terminal", Arguments: `{"command":"ls"}`, Origin: event.OriginCompletion}}},
		event.Message{Role: event.RoleTool, ToolCallID: "functions.terminal:0", Name: "terminal", Content: event.Texts("result")},
		event.Message{Role: event.RoleAssistant, Content: event.Texts("Done."), ThinkingBlocks: block(`{"type":"reasoning.encrypted","data":"x","format":"google-gemini-v1"}`)})
}
