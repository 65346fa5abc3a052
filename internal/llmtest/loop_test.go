package llmtest_test

import (
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"

	"github.com/deft-dev/deft/internal/llmtest"
	"github.com/deft-dev/deft/internal/must"
)

const loopScript = rich + `
  - match: {tool_results: 2, assistant_turns: 1, tool_result: second}
    reply: {text: "saw {{.LastToolResult}}"}
`

// TestResponsesLoop sends the output items back with the encrypted reasoning,
// as a client without storage at the provider does.
func TestResponsesLoop(t *testing.T) {
	t.Parallel()
	srv := llmtest.Start(t, parse(t, loopScript))
	client := openaiClient(t, srv)
	params := responsesParams()
	r, err := client.Responses.New(t.Context(), params)
	must.Succeed(t, err)
	items := responses.ResponseInputParam{responses.ResponseInputItemParamOfMessage("hello", responses.EasyInputMessageRoleUser)}
	texts := []string{"first", "second"}
	var outputs responses.ResponseInputParam
	for _, it := range r.Output {
		items = append(items, param.Override[responses.ResponseInputItemUnionParam](rawJSON(it.RawJSON())))
		if it.Type == "function_call" {
			out := responses.ResponseInputItemParamOfFunctionCallOutput(texts[len(outputs)])
			out.OfFunctionCallOutput.CallID = openai.String(it.CallID)
			outputs = append(outputs, out)
		}
	}
	params.Input = responses.ResponseNewParamsInputUnion{OfInputItemList: append(items, outputs...)}
	next, err := client.Responses.New(t.Context(), params)
	must.Succeed(t, err)
	if got := next.OutputText(); got != "saw second" {
		t.Errorf("text is %q", got)
	}
	if got := srv.Requests()[1].Messages[1]; got.Reasoning != "think hard, then act" || len(got.ToolCalls) != 2 || got.Text == "" {
		t.Errorf("assistant message: %+v", got)
	}
}

func TestChatLoop(t *testing.T) {
	t.Parallel()
	srv := llmtest.Start(t, parse(t, loopScript))
	client := openaiClient(t, srv)
	params := chatParams()
	c, err := client.Chat.Completions.New(t.Context(), params)
	must.Succeed(t, err)
	m := c.Choices[0].Message
	params.Messages = append(params.Messages, m.ToParam(),
		openai.ToolMessage("first", m.ToolCalls[0].ID), openai.ToolMessage("second", m.ToolCalls[1].ID))
	next, err := client.Chat.Completions.New(t.Context(), params)
	must.Succeed(t, err)
	if got := next.Choices[0].Message.Content; got != "saw second" {
		t.Errorf("text is %q", got)
	}
}

// TestExample runs testdata/example.yaml, with a retry by the SDK.
func TestExample(t *testing.T) {
	t.Parallel()
	script, err := llmtest.Load("testdata/example.yaml")
	must.Succeed(t, err)
	srv := llmtest.Start(t, script)
	client := openaiClient(t, srv, retries(1))
	params := chatParams(openai.UserMessage("fix the failing test"))
	results := [][]string{{"--- FAIL: pkg/a_test.go"}, {"package a", "clean"}, nil}
	for _, texts := range results {
		c, err := client.Chat.Completions.New(t.Context(), params)
		must.Succeed(t, err)
		m := c.Choices[0].Message
		if len(m.ToolCalls) != len(texts) {
			t.Fatalf("%d tool calls, want %d", len(m.ToolCalls), len(texts))
		}
		params.Messages = append(params.Messages, m.ToParam())
		for i, text := range texts {
			params.Messages = append(params.Messages, openai.ToolMessage(text, m.ToolCalls[i].ID))
		}
		if len(texts) == 2 && m.ToolCalls[0].Function.Arguments != `{"command":"view","path":"pkg/a_test.go"}` {
			t.Errorf("arguments: %s", m.ToolCalls[0].Function.Arguments)
		}
		if texts == nil && m.Content != "Done after 4 calls, as you asked: fix the failing test" {
			t.Errorf("text is %q", m.Content)
		}
	}
}
