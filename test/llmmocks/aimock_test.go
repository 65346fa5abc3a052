package llmmocks_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/anthropic"
	"github.com/deft-dev/deft/llm/bedrock"
	"github.com/deft-dev/deft/llm/gemini"
	"github.com/deft-dev/deft/llm/openai"
	"github.com/deft-dev/deft/llm/responses"
)

var tools = []llm.Tool{{
	Name: "terminal", Description: "Runs a command.",
	Parameters: []byte(`{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}`),
}}

// answer is the result of a call, with the text of its deltas.
type answer struct {
	*llm.Response
	text string
}

// ask makes a call and holds the deltas to the answer.
func ask(t *testing.T, m llm.Model, stream bool, msgs ...event.Message) (answer, error) {
	t.Helper()
	var text strings.Builder
	r := llm.Request{Messages: msgs, Tools: tools, NoStream: !stream, MaxOutputTokens: 1000}
	resp, err := m.Generate(t.Context(), r, func(d llm.Delta) { text.WriteString(d.Text) })
	if err == nil && event.JoinText(resp.Message.Content) != text.String() {
		t.Errorf("deltas say %q, the answer %q", text.String(), event.JoinText(resp.Message.Content))
	}
	return answer{resp, text.String()}, err
}

func says(text string) event.Message {
	return event.Message{Role: event.RoleUser, Content: event.Texts(text)}
}

// testTools makes a tool call's round trip.
func testTools(t *testing.T, m llm.Model, stream bool, wantText, wantArgs string) {
	t.Helper()
	a, err := ask(t, m, stream, says("please list the files"))
	must.Succeed(t, err)
	calls := a.Message.ToolCalls
	if a.text != wantText || a.Finish != llm.FinishTools || len(calls) != 1 || calls[0].Name != "terminal" || calls[0].Arguments != wantArgs {
		t.Fatalf("text %q, finish %s, calls %+v", a.text, a.Finish, calls)
	}
	result := event.Message{Role: event.RoleTool, Name: "terminal", ToolCallID: calls[0].ID, Content: event.Texts("a\nb")}
	a, err = ask(t, m, stream, says("please list the files"), a.Message, result)
	if err != nil || a.text != "It has two files." || a.Finish != llm.FinishStop {
		t.Errorf("after the result: %+v, %v", a, err)
	}
}

// wantError holds an error to its kind.
func wantError(t *testing.T, err error, kind fault.Kind, retryable bool) {
	t.Helper()
	e, ok := errors.AsType[*llm.Error](err)
	if !ok || fault.KindOf(err) != kind || e.Retryable != retryable {
		t.Errorf("error %v, want kind %s, retryable %v", err, kind, retryable)
	}
}

// TestAimock runs the adapters against npm's @copilotkit/aimock.
func TestAimock(t *testing.T) {
	t.Parallel()
	program := script(t, "@copilotkit", "aimock", "dist", "cli.js")
	url := serve(t, regexp.MustCompile(`listening on (http://\S+)`), program, "-p", "0", "-c", "5", "-f", "testdata/aimock.json")[1]
	for name, adapter := range map[string]struct {
		path, model string
		make        func(llm.Config) (llm.Model, error)
	}{
		"chat":      {"/v1", "openai/gpt-4o", func(c llm.Config) (llm.Model, error) { return openai.New(c) }},
		"responses": {"/v1", "openai/gpt-5.2", func(c llm.Config) (llm.Model, error) { return responses.New(c) }},
		"anthropic": {"", "anthropic/claude-sonnet-4-5", func(c llm.Config) (llm.Model, error) { return anthropic.New(c) }},
		"gemini":    {"/v1beta", "gemini/gemini-2.5-pro", func(c llm.Config) (llm.Model, error) { return gemini.New(c) }},
		"vertex": {"", "vertex_ai/gemini-2.5-pro", func(c llm.Config) (llm.Model, error) {
			return gemini.NewVertex(c, environ(map[string]string{"VERTEXAI_PROJECT": "p"}))
		}},
		"bedrock": {"", "bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0", func(c llm.Config) (llm.Model, error) {
			c.APIKey = "" // so that requests are signed
			c.AWS = llm.AWS{Region: "us-east-1", AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: "example"}
			return bedrock.New(c, environ(nil))
		}},
	} {
		m, err := adapter.make(llm.Config{Model: adapter.model, BaseURL: url + adapter.path, APIKey: "sk-mock"})
		must.Succeed(t, err)
		for mode, stream := range map[string]bool{"stream": true, "whole": false} {
			t.Run(name+"/"+mode, func(t *testing.T) { testAimock(t, m, stream) })
		}
	}
}

// environ is an environment of a cloud's.
func environ(pairs map[string]string) func(string) string {
	return func(name string) string { return pairs[name] }
}

func testAimock(t *testing.T, m llm.Model, stream bool) {
	a, err := ask(t, m, stream, says("hello there"))
	if err != nil || a.text != "Grüße, 世界! <b>How</b> can I help?" || a.Finish != llm.FinishStop {
		t.Errorf("text: %+v, %v", a, err)
	}
	testTools(t, m, stream, "I will look.", `{"command":"ls -la \"a b\""}`)
	a, err = ask(t, m, stream, says("two at once"))
	if err != nil || len(a.Message.ToolCalls) != 2 || a.Message.ToolCalls[1].Arguments != `{"command":"id"}` || a.Message.ToolCalls[0].ID == a.Message.ToolCalls[1].ID {
		t.Errorf("two calls: %+v, %v", a, err)
	}
	a, err = ask(t, m, stream, says("think first"))
	if err != nil || a.text != "Done thinking." || a.Message.ReasoningContent != "Let me think." {
		t.Errorf("reasoning: %+v, %v", a, err)
	}
	_, err = ask(t, m, stream, says("too fast"))
	wantError(t, err, fault.RateLimit, true)
	_, err = ask(t, m, stream, says("bad key"))
	wantError(t, err, fault.Auth, false)
	_, err = ask(t, m, stream, says("overload"))
	wantError(t, err, fault.Unavailable, true)
	if stream {
		_, err = ask(t, m, stream, says("break off"))
		wantError(t, err, fault.Unavailable, true)
		if e, ok := errors.AsType[*llm.Error](err); !ok || !e.Partial {
			t.Errorf("a broken stream: %v", err)
		}
	}
}
