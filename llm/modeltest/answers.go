package modeltest

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/llmtest"
	"github.com/deft-dev/deft/llm"
)

// answerCase is a valid answer and the expected result.
type answerCase struct {
	name string
	run  func(t *testing.T, a Adapter, stream bool)
}

var answers = []answerCase{
	{"text", testText},
	{"reasoning round trip", testReasoning},
	{"tool calls round trip", testToolCalls},
	{"same id twice", testDuplicateIDs},
	{"empty arguments", testEmptyArguments},
	{"malformed arguments", testMalformedArguments},
	{"half a character", testHalfCharacter},
	{"characters in two deltas", testSplitCharacters},
	{"usage and cost", testUsage},
	{"finish reasons", testFinish},
	{"images", testImages},
	{"broken history", testBrokenHistory},
	{"all parameters", testParameters},
}

func testText(t *testing.T, a Adapter, stream bool) {
	b := start(t, a, stream, once(llmtest.Reply{Text: "Grüße, 世界! 👋 and <html> & more"}))
	o := b.must(hello())
	if o.text != "Grüße, 世界! 👋 and <html> & more" || o.resp.Finish != llm.FinishStop || o.resp.ID == "" || o.resp.Model == "" {
		t.Errorf("text %q, finish %s, id %q, model %q", o.text, o.resp.Finish, o.resp.ID, o.resp.Model)
	}
	req := b.srv.Requests()[0]
	if req.System != "You are a test." || req.LastUser() != "Hello." || req.Stream != stream {
		t.Errorf("server saw system %q, user %q, stream %v", req.System, req.LastUser(), req.Stream)
	}
}

func testReasoning(t *testing.T, a Adapter, stream bool) {
	script := &llmtest.Script{Turns: []llmtest.Turn{
		{Reply: llmtest.Reply{Reasoning: "Let me think about it.", RedactedReasoning: "b3BhcXVl", ToolCalls: []llmtest.ToolCall{{Name: "terminal", Arguments: map[string]any{"command": "ls"}}}}, Pacing: llmtest.Pacing{ChunkSize: 4}},
		{Reply: llmtest.Reply{Text: "done"}},
	}}
	b := start(t, a, stream, script)
	r := hello()
	r.Tools, r.ReasoningEffort = tools, "high"
	o := b.must(r)
	if o.reasoning != "Let me think about it." {
		t.Fatalf("reasoning %q", o.reasoning)
	}
	if a.Signed {
		blocks := o.resp.Message.ThinkingBlocks
		if len(blocks) != 2 || blocks[0].Signature == "" || blocks[1].Data != "b3BhcXVl" {
			t.Fatalf("thinking blocks %+v", blocks)
		}
	}
	// The strict server refuses signed reasoning that was changed or left out.
	r.Messages = append(r.Messages, o.resp.Message, event.Message{Role: event.RoleTool, ToolCallID: o.resp.Message.ToolCalls[0].ID, Content: event.Texts("file")})
	if o := b.must(r); o.text != "done" {
		t.Errorf("text %q", o.text)
	}
}

func testToolCalls(t *testing.T, a Adapter, stream bool) {
	script := &llmtest.Script{Turns: []llmtest.Turn{
		{Reply: llmtest.Reply{Text: "Running.", ToolCalls: []llmtest.ToolCall{
			{Name: "terminal", RawArguments: `{"command":"echo \"a\\n\" && ls -la /tmp"}`},
			{Name: "terminal", RawArguments: `{"command":"pwd"}`},
		}}, Pacing: llmtest.Pacing{ChunkSize: 3}},
		{Reply: llmtest.Reply{Text: "done"}},
	}}
	b := start(t, a, stream, script)
	r := hello()
	r.Tools, r.ToolChoice = tools, "auto"
	o := b.must(r)
	calls := o.resp.Message.ToolCalls
	origin := event.OriginCompletion
	if a.Protocol == llmtest.OpenAIResponses {
		origin = event.OriginResponses
	}
	if o.resp.Finish != llm.FinishTools || len(calls) != 2 || calls[0].ID == calls[1].ID || calls[0].Origin != origin ||
		calls[0].Arguments != `{"command":"echo \"a\\n\" && ls -la /tmp"}` || calls[1].Arguments != `{"command":"pwd"}` {
		t.Fatalf("finish %s, calls %+v", o.resp.Finish, calls)
	}
	r.Messages = append(r.Messages, o.resp.Message,
		event.Message{Role: event.RoleTool, ToolCallID: calls[1].ID, Content: event.Texts("/")},
		event.Message{Role: event.RoleTool, ToolCallID: calls[0].ID, Content: event.Texts("a")})
	b.must(r)
	req := b.srv.Requests()[1]
	if a.Speak != nil { // tools and results are text
		return
	}
	if got := strings.Join(req.ToolResults(), ","); got != "a,/" || len(req.Tools) != 2 {
		t.Errorf("server saw results %q and %d tools", got, len(req.Tools))
	}
}

func testDuplicateIDs(t *testing.T, a Adapter, stream bool) {
	script := once(llmtest.Reply{ToolCalls: []llmtest.ToolCall{
		{ID: "same", Name: "terminal", Arguments: map[string]any{"command": "a"}},
		{ID: "same", Name: "terminal", Arguments: map[string]any{"command": "b"}},
	}})
	b := start(t, a, stream, script)
	r := hello()
	r.Tools = tools
	calls := b.must(r).resp.Message.ToolCalls
	if len(calls) != 2 || calls[0].ID == calls[1].ID {
		t.Errorf("calls %+v", calls)
	}
}

func testEmptyArguments(t *testing.T, a Adapter, stream bool) {
	b := start(t, a, stream, once(llmtest.Reply{ToolCalls: []llmtest.ToolCall{{Name: "finish"}}}))
	r := hello()
	r.Tools = tools
	if calls := b.must(r).resp.Message.ToolCalls; len(calls) != 1 || calls[0].Arguments != "{}" {
		t.Errorf("calls %+v", calls)
	}
}

func testMalformedArguments(t *testing.T, a Adapter, stream bool) {
	if !stream && a.Protocol == llmtest.Anthropic || a.Protocol == llmtest.Gemini {
		return // the answer holds an object there, never text
	}
	const bad = `{"command": "ls`
	script := &llmtest.Script{Turns: []llmtest.Turn{
		{Reply: llmtest.Reply{ToolCalls: []llmtest.ToolCall{{Name: "terminal", RawArguments: bad}}}},
		{Reply: llmtest.Reply{Text: "sorry"}},
	}}
	b := start(t, a, stream, script)
	r := hello()
	r.Tools = tools
	o := b.must(r)
	if calls := o.resp.Message.ToolCalls; len(calls) != 1 || calls[0].Arguments != bad {
		t.Fatalf("calls %+v", calls)
	}
	r.Messages = append(r.Messages, o.resp.Message, event.Message{Role: event.RoleTool, ToolCallID: o.resp.Message.ToolCalls[0].ID, Content: event.Texts("not JSON")})
	b.must(r)
}

// testHalfCharacter has a model write half a surrogate pair, and a stored history with one.
func testHalfCharacter(t *testing.T, a Adapter, stream bool) {
	script := &llmtest.Script{Turns: []llmtest.Turn{
		{Reply: llmtest.Reply{ToolCalls: []llmtest.ToolCall{{Name: "terminal", RawArguments: `{"command":"echo A\ud99cB"}`}}}},
		{Repeat: 2, Reply: llmtest.Reply{Text: "fine"}},
	}}
	b := start(t, a, stream, script)
	r := hello()
	r.Tools = append(slices.Clone(tools), llm.Tool{Name: "odd", Parameters: []byte(`{"type":"object","properties":{},"description":"\ud83d"}`)})
	o := b.ask(t.Context(), r)
	if o.err != nil {
		t.Fatal(o.err)
	}
	call := &o.resp.Message.ToolCalls[0]
	var args struct{ Command string }
	if err := json.Unmarshal([]byte(call.Arguments), &args); err != nil || args.Command != "echo A\uFFFDB" || strings.Contains(call.Arguments, `\ud99c`) {
		t.Errorf("arguments %s, %v", call.Arguments, err)
	}
	for _, arguments := range []string{call.Arguments, `{"command":"echo A\ud99cB"}`} {
		call.Arguments = arguments
		b.must(llm.Request{Tools: r.Tools, Messages: append(slices.Clone(r.Messages), o.resp.Message, event.Message{Role: event.RoleTool, ToolCallID: call.ID, Content: event.Texts("A?B \xed")})})
	}
}

// testSplitCharacters streams one UTF-16 unit a delta.
func testSplitCharacters(t *testing.T, a Adapter, stream bool) {
	const said = "Grüße 😀👋"
	script := &llmtest.Script{Turns: []llmtest.Turn{{
		Reply:  llmtest.Reply{Text: said, Reasoning: "𝄞!", ToolCalls: []llmtest.ToolCall{{Name: "terminal", RawArguments: `{"command":"echo 😀 \ud83d\ude00"}`}}},
		Pacing: llmtest.Pacing{ChunkSize: llmtest.UTF16Units},
	}}}
	b := start(t, a, stream, script)
	r := hello()
	r.Tools = tools
	o := b.must(r)
	var args struct{ Command string }
	if err := json.Unmarshal([]byte(o.resp.Message.ToolCalls[0].Arguments), &args); err != nil || o.text != said || o.reasoning != "𝄞!" || args.Command != "echo 😀 😀" {
		t.Errorf("text %q, reasoning %q, command %q, %v", o.text, o.reasoning, args.Command, err)
	}
}

func testUsage(t *testing.T, a Adapter, stream bool) {
	b := start(t, a, stream, once(llmtest.Reply{Text: "x", Usage: &llmtest.Usage{Input: 1000, Output: 200, Cached: 300, CacheWrite: 100}}))
	o := b.must(hello())
	want := llm.Usage{Prompt: 1000, Output: 200, CacheRead: 300, CacheWrite: 100}
	if a.Protocol == llmtest.Gemini {
		want.CacheWrite = 0 // not counted there
	}
	if o.resp.Usage != want {
		t.Errorf("usage %+v, want %+v", o.resp.Usage, want)
	}
	if cost, known := b.model.Info().Price.Cost(want); !known || !o.resp.CostKnown || o.resp.Cost != cost || cost <= 0 {
		t.Errorf("cost %v %v, want %v %v", o.resp.Cost, o.resp.CostKnown, cost, known)
	}
}

func testFinish(t *testing.T, a Adapter, stream bool) {
	for word, want := range map[string]llm.Finish{"stop": llm.FinishStop, "length": llm.FinishLength, "content_filter": llm.FinishContent} {
		b := start(t, a, stream, once(llmtest.Reply{Text: "x", FinishReason: word}))
		if got := b.must(hello()).resp.Finish; got != want {
			t.Errorf("finish %q is %q, want %q", word, got, want)
		}
	}
}

// pixel is a PNG of one pixel.
const pixel = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

func testImages(t *testing.T, a Adapter, stream bool) {
	b := start(t, a, stream, once(llmtest.Reply{Text: "I see."}))
	r := hello()
	r.Tools = tools
	r.Messages = append(r.Messages,
		event.Message{Role: event.RoleUser, Content: event.List[event.Content]{event.Text("look"), event.Image(pixel, "https://example.com/a.png")}},
		event.Message{Role: event.RoleAssistant, ToolCalls: []event.ToolCall{{ID: "c1", Name: "terminal", Arguments: "{}"}, {ID: "c2", Name: "terminal", Arguments: "{}"}}},
		event.Message{Role: event.RoleTool, ToolCallID: "c1", Content: event.List[event.Content]{event.Text("shot"), event.Image(pixel)}},
		event.Message{Role: event.RoleTool, ToolCallID: "c2", Content: event.Texts("two")},
	)
	b.must(r)
	images := 0
	for _, m := range b.srv.Requests()[0].Messages {
		images += m.Images
	}
	if images != 3 {
		t.Errorf("the server saw %d images, want 3", images)
	}
}

func testBrokenHistory(t *testing.T, a Adapter, stream bool) {
	b := start(t, a, stream, once(llmtest.Reply{Text: "fine"}))
	r := hello()
	r.Tools = tools
	r.Messages = append(r.Messages,
		event.Message{Role: event.RoleTool, ToolCallID: "orphan", Content: event.Texts("?")},
		event.Message{Role: event.RoleAssistant, Content: event.Texts("  ")},
		event.Message{Role: event.RoleAssistant, ToolCalls: []event.ToolCall{{ID: "x.1", Name: "no such tool!", Arguments: "{"}, {ID: "x.1", Name: "terminal"}}},
		event.Message{Role: event.RoleUser, Content: event.Texts("hey")},
		event.Message{Role: event.RoleUser, Content: event.Texts("you")},
		event.Message{Role: event.RoleTool, ToolCallID: "x.1", Content: nil},
		event.Message{Role: event.RoleAssistant, Content: event.Texts("well"), ThinkingBlocks: event.List[event.ThinkingBlock]{{Type: "thinking", Thinking: "unsigned"}}},
	)
	b.must(r)
}

func testParameters(t *testing.T, a Adapter, stream bool) {
	warm := 1.5
	b := start(t, a, stream, once(llmtest.Reply{Text: "{}"}))
	r := hello()
	r.Tools, r.ToolChoice = tools, "terminal"
	r.MaxOutputTokens, r.Temperature, r.TopP, r.Stop = 2000, &warm, &warm, []string{"STOP", " "}
	r.ReasoningEffort, r.Schema = "high", []byte(`{"type":"object","properties":{}}`)
	*r.TopP = 0.9
	b.must(r)
	if got := b.srv.Requests()[0].MaxTokens; got != 2000 {
		t.Errorf("max tokens %d", got)
	}
}
