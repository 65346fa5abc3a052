package llmtest_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"github.com/deft-dev/deft/internal/llmtest"
	"github.com/deft-dev/deft/internal/must"
)

func chatParams(messages ...openai.ChatCompletionMessageParamUnion) openai.ChatCompletionNewParams {
	if len(messages) == 0 {
		messages = []openai.ChatCompletionMessageParamUnion{openai.SystemMessage("be brief"), openai.UserMessage("hello")}
	}
	schema := shared.FunctionParameters{"type": "object", "properties": map[string]any{"command": map[string]any{"type": "string"}}}
	return openai.ChatCompletionNewParams{
		Model: "gpt-test", Messages: messages,
		Tools: []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: "terminal", Parameters: schema})},
	}
}

// said is a client's reading of an answer, whatever the protocol.
type said struct {
	Text, Reasoning, Finish                    string
	Names, Args                                []string
	Input, Output, Cached, CacheWrite, Thought int64
}

func wantRich(finish string) said {
	return said{
		Text: "Grüße, 世界! I will look at two things.", Reasoning: "think hard, then act", Finish: finish,
		Names: []string{"terminal", "grep"},
		Args:  []string{`{"command":"ls -la /a/long/enough/path/to/be/split","n":3}`, `{"deep":{"list":[1,"two"]},"pattern":"func main() {"}`},
		Input: 1000, Output: 50, Cached: 600, CacheWrite: 100, Thought: 20,
	}
}

func fromChat(t *testing.T, c *openai.ChatCompletion, reasoning string) said {
	t.Helper()
	m := c.Choices[0].Message
	s := said{
		Text: m.Content, Reasoning: reasoning, Finish: c.Choices[0].FinishReason,
		Input: c.Usage.PromptTokens, Output: c.Usage.CompletionTokens, Cached: c.Usage.PromptTokensDetails.CachedTokens,
		CacheWrite: c.Usage.PromptTokensDetails.CacheWriteTokens, Thought: c.Usage.CompletionTokensDetails.ReasoningTokens,
	}
	for _, tc := range m.ToolCalls {
		if tc.ID == "" || tc.Type != "function" {
			t.Errorf("tool call without id or type: %s", tc.RawJSON())
		}
		s.Names, s.Args = append(s.Names, tc.Function.Name), append(s.Args, tc.Function.Arguments)
	}
	return s
}

func TestChat(t *testing.T) {
	t.Parallel()
	srv := llmtest.Start(t, parse(t, rich))
	client := openaiClient(t, srv)
	c, err := client.Chat.Completions.New(t.Context(), chatParams())
	must.Succeed(t, err)
	var reasoning string
	must.Succeed(t, json.Unmarshal([]byte(c.Choices[0].Message.JSON.ExtraFields["reasoning_content"].Raw()), &reasoning))
	if diff := cmp.Diff(wantRich("tool_calls"), fromChat(t, c, reasoning)); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
	got := srv.Requests()[0]
	if got.System != "be brief" || got.LastUser() != "hello" || got.Tools[0].Name != "terminal" || got.Headers.Get("Authorization") != "[redacted]" {
		t.Errorf("recorded request: %+v", got)
	}
}

func TestChatStream(t *testing.T) {
	t.Parallel()
	srv := llmtest.Start(t, parse(t, rich))
	client := openaiClient(t, srv)
	params := chatParams()
	params.StreamOptions.IncludeUsage = openai.Bool(true)
	stream := client.Chat.Completions.NewStreaming(t.Context(), params)
	var acc openai.ChatCompletionAccumulator
	reasoning, order, cacheWrite := "", []int64{}, int64(0)
	for stream.Next() {
		chunk := stream.Current()
		if !acc.AddChunk(chunk) {
			t.Fatalf("chunk does not fit: %s", chunk.RawJSON())
		}
		if len(chunk.Choices) == 0 {
			// The SDK's accumulator leaves this count out.
			cacheWrite = chunk.Usage.PromptTokensDetails.CacheWriteTokens
			continue
		}
		if f, ok := chunk.Choices[0].Delta.JSON.ExtraFields["reasoning_content"]; ok {
			var s string
			must.Succeed(t, json.Unmarshal([]byte(f.Raw()), &s))
			reasoning += s
		}
		for _, tc := range chunk.Choices[0].Delta.ToolCalls {
			order = append(order, tc.Index)
		}
	}
	must.Succeed(t, stream.Err())
	got := fromChat(t, &acc.ChatCompletion, reasoning)
	got.CacheWrite = cacheWrite
	if diff := cmp.Diff(wantRich("tool_calls"), got); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int64{0, 1, 0, 1, 0, 1}, order[:6]); diff != "" {
		t.Errorf("calls are not interleaved (-want +got):\n%s", diff)
	}
}

func responsesParams() responses.ResponseNewParams {
	return responses.ResponseNewParams{
		Model: "gpt-test", Instructions: openai.String("be brief"), Store: openai.Bool(false),
		Include: []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent},
		Input:   responses.ResponseNewParamsInputUnion{OfString: openai.String("hello")},
	}
}

func fromResponse(r *responses.Response) said {
	s := said{
		Text: r.OutputText(), Finish: string(r.Status), Input: r.Usage.InputTokens, Output: r.Usage.OutputTokens,
		Cached: r.Usage.InputTokensDetails.CachedTokens, CacheWrite: r.Usage.InputTokensDetails.CacheWriteTokens,
		Thought: r.Usage.OutputTokensDetails.ReasoningTokens,
	}
	for _, it := range r.Output {
		switch it.Type {
		case "reasoning":
			s.Reasoning = it.Summary[0].Text
		case "function_call":
			s.Names, s.Args = append(s.Names, it.Name), append(s.Args, it.Arguments.OfString)
		}
	}
	return s
}

func TestResponses(t *testing.T) {
	t.Parallel()
	srv := llmtest.Start(t, parse(t, rich))
	client := openaiClient(t, srv)
	r, err := client.Responses.New(t.Context(), responsesParams())
	must.Succeed(t, err)
	if diff := cmp.Diff(wantRich("completed"), fromResponse(r)); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
	if r.Output[0].EncryptedContent == "" {
		t.Error("no encrypted_content, though it was asked for")
	}
}

func TestResponsesStream(t *testing.T) {
	t.Parallel()
	srv := llmtest.Start(t, parse(t, rich))
	client := openaiClient(t, srv)
	stream := client.Responses.NewStreaming(t.Context(), responsesParams())
	var final responses.Response
	text, reasoning, args, seq := "", "", map[int64]string{}, int64(-1)
	seen := map[string]int{}
	for stream.Next() {
		ev := stream.Current()
		seen[ev.Type]++
		if ev.SequenceNumber != seq+1 {
			t.Errorf("%s has number %d after %d", ev.Type, ev.SequenceNumber, seq)
		}
		seq = ev.SequenceNumber
		switch ev.Type {
		case "response.output_text.delta":
			text += ev.Delta
		case "response.reasoning_summary_text.delta":
			reasoning += ev.Delta
		case "response.function_call_arguments.delta":
			args[ev.OutputIndex] += ev.Delta
		case "response.completed":
			final = ev.Response
		}
	}
	must.Succeed(t, stream.Err())
	want := wantRich("completed")
	if diff := cmp.Diff(want, fromResponse(&final)); diff != "" {
		t.Errorf("final response (-want +got):\n%s", diff)
	}
	if text != want.Text || reasoning != want.Reasoning || args[2] != want.Args[0] || args[3] != want.Args[1] {
		t.Errorf("deltas: text %q, reasoning %q, arguments %v", text, reasoning, args)
	}
	for _, kind := range []string{
		"response.created", "response.in_progress", "response.output_item.added", "response.output_item.done",
		"response.reasoning_summary_part.added", "response.reasoning_summary_part.done", "response.reasoning_summary_text.done",
		"response.content_part.added", "response.content_part.done", "response.output_text.done", "response.function_call_arguments.done",
	} {
		if seen[kind] == 0 {
			t.Errorf("no event %s", kind)
		}
	}
}
