package llmtest_test

import (
	"encoding/json"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/internal/llmtest"
	"github.com/deft-dev/deft/internal/must"
)

func messageParams(messages ...anthropic.MessageParam) anthropic.MessageNewParams {
	if len(messages) == 0 {
		messages = []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("hello"))}
	}
	return anthropic.MessageNewParams{
		Model: "claude-test", MaxTokens: 4096, Messages: messages,
		System:   []anthropic.TextBlockParam{{Text: "be brief"}},
		Thinking: anthropic.ThinkingConfigParamOfEnabled(1024),
		Tools: []anthropic.ToolUnionParam{{OfTool: &anthropic.ToolParam{
			Name: "terminal", InputSchema: anthropic.ToolInputSchemaParam{Properties: map[string]any{"command": map[string]any{"type": "string"}}},
		}}},
	}
}

func fromMessage(t *testing.T, m *anthropic.Message) said {
	t.Helper()
	u := m.Usage
	s := said{
		Finish: string(m.StopReason), Input: u.InputTokens + u.CacheCreationInputTokens + u.CacheReadInputTokens,
		Output: u.OutputTokens, Cached: u.CacheReadInputTokens, CacheWrite: u.CacheCreationInputTokens,
		Thought: 20, // the protocol does not count it apart
	}
	for _, b := range m.Content {
		switch b.Type {
		case "text":
			s.Text += b.Text
		case "thinking":
			s.Reasoning += b.Thinking
			if b.Signature == "" {
				t.Error("thinking without signature")
			}
		case "tool_use":
			var v any
			if err := json.Unmarshal(b.Input, &v); err != nil {
				t.Errorf("input of %s: %v", b.Name, err)
			}
			s.Names, s.Args = append(s.Names, b.Name), append(s.Args, string(b.Input))
		}
	}
	return s
}

func TestMessages(t *testing.T) {
	t.Parallel()
	srv := llmtest.Start(t, parse(t, rich))
	client := anthropicClient(t, srv)
	m, err := client.Messages.New(t.Context(), messageParams())
	must.Succeed(t, err)
	if diff := cmp.Diff(wantRich("tool_use"), fromMessage(t, m)); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
}

// accumulate reads a stream to its end.
func accumulate(t *testing.T, client anthropic.Client, params anthropic.MessageNewParams) (m anthropic.Message, kinds []string, err error) {
	t.Helper()
	stream := client.Messages.NewStreaming(t.Context(), params)
	for stream.Next() {
		ev := stream.Current()
		kinds = append(kinds, ev.Type)
		if err := m.Accumulate(ev); err != nil {
			t.Fatalf("event does not fit: %v", err)
		}
	}
	if cerr := stream.Close(); cerr != nil {
		t.Logf("close stream: %v", cerr)
	}
	return m, kinds, stream.Err()
}

func TestMessagesStream(t *testing.T) {
	t.Parallel()
	script := parse(t, rich)
	script.Turns[0].Reply.RedactedReasoning = "b3BhcXVl"
	srv := llmtest.Start(t, script)
	m, kinds, err := accumulate(t, anthropicClient(t, srv), messageParams())
	must.Succeed(t, err)
	if diff := cmp.Diff(wantRich("tool_use"), fromMessage(t, &m)); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
	if m.Content[1].Type != "redacted_thinking" || m.Content[1].Data != "b3BhcXVl" {
		t.Errorf("second block is %s", m.Content[1].RawJSON())
	}
	if kinds[0] != "message_start" || kinds[len(kinds)-1] != "message_stop" {
		t.Errorf("events: %v", kinds)
	}
}

// TestMessagesLoop sends the answers back, as an agent does: the history must
// pass the checks, including thinking and signature.
func TestMessagesLoop(t *testing.T) {
	t.Parallel()
	srv := llmtest.Start(t, parse(t, rich+`
  - match: {tool_results: 2, assistant_turns: 1, tool_result: second}
    reply: {text: "saw {{.LastToolResult}}"}
`))
	client := anthropicClient(t, srv)
	params := messageParams()
	m, _, err := accumulate(t, client, params)
	must.Succeed(t, err)
	var results []anthropic.ContentBlockParamUnion
	texts := []string{"first", "second"}
	for _, b := range m.Content {
		if b.Type == "tool_use" {
			results = append(results, anthropic.NewToolResultBlock(b.ID, texts[len(results)], false))
		}
	}
	params.Messages = append(params.Messages, m.ToParam(), anthropic.NewUserMessage(results...))
	next, err := client.Messages.New(t.Context(), params)
	must.Succeed(t, err)
	if got := next.Content[0].Text; got != "saw second" {
		t.Errorf("text is %q", got)
	}
}

func TestCountTokens(t *testing.T) {
	t.Parallel()
	srv := llmtest.Start(t, &llmtest.Script{})
	client := anthropicClient(t, srv)
	c, err := client.Messages.CountTokens(t.Context(), anthropic.MessageCountTokensParams{
		Model: "claude-test", Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("hello"))},
	})
	if err != nil || c.InputTokens < 1 {
		t.Fatalf("count %v, error %v", c, err)
	}
	if n := srv.Count(); n != 0 {
		t.Errorf("%d requests recorded, though counting tokens uses no turn", n)
	}
}
