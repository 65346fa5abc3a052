package anthropic_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/anthropic"
)

// serve answers with a stream of events and keeps the request's body.
func serve(t *testing.T, model string, body *[]byte, events ...string) *anthropic.Model {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		must.Report(t, err)
		if body != nil {
			*body = b
		}
		if r.URL.Path != "/v1/messages" || r.Header.Get("X-Api-Key") != "k" || r.Header.Get("Anthropic-Version") != "2023-06-01" || r.Header.Get("Authorization") != "" {
			t.Errorf("path %s, headers %v", r.URL.Path, r.Header)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, e := range events {
			var kind struct {
				Type string `json:"type"`
			}
			must.Report(t, json.Unmarshal([]byte(e), &kind))
			fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind.Type, e)
		}
	}))
	t.Cleanup(srv.Close)
	m, err := anthropic.New(llm.Config{Model: model, BaseURL: srv.URL + "/v1/", APIKey: "k"})
	must.Succeed(t, err)
	return m
}

const (
	begin = `{"type":"message_start","message":{"id":"msg_1","model":"claude","usage":{"input_tokens":10,"cache_read_input_tokens":5,"output_tokens":1}}}`
	text0 = `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`
	more  = `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}`
	halt  = `{"type":"content_block_stop","index":0}`
	end   = `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":7}}`
	stop  = `{"type":"message_stop"}`
)

func user(text string) event.Message {
	return event.Message{Role: event.RoleUser, Content: event.Texts(text)}
}

func TestStream(t *testing.T) {
	t.Parallel()
	m := serve(t, "anthropic/claude-sonnet-4-5", nil, begin, `{"type":"ping"}`, text0, more, more, `{"type":"some_future_event","x":1}`, halt, end, stop)
	resp, err := llm.Complete(t.Context(), m, llm.Request{Messages: []event.Message{user("hi")}}, nil)
	must.Succeed(t, err)
	if event.JoinText(resp.Message.Content) != "aa" || resp.Usage != (llm.Usage{Prompt: 15, Output: 7, CacheRead: 5}) || resp.ID != "msg_1" {
		t.Errorf("%+v", resp)
	}
}

func TestBrokenStreams(t *testing.T) {
	t.Parallel()
	overloaded := `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`
	for name, tt := range map[string]struct {
		events  []string
		kind    fault.Kind
		code    string
		partial bool
	}{
		"overloaded in the middle":  {[]string{begin, text0, more, overloaded}, fault.Unavailable, "overloaded_error", true},
		"overloaded at the start":   {[]string{overloaded}, fault.Unavailable, "overloaded_error", false},
		"no message_stop":           {[]string{begin, text0, more, halt, end}, fault.Unavailable, llm.CodeTruncated, true},
		"no stop reason":            {[]string{begin, text0, more, halt, stop}, fault.Unavailable, llm.CodeTruncated, true},
		"nothing said":              {[]string{begin, end, stop}, fault.Unavailable, llm.CodeEmpty, false},
		"a delta without its block": {[]string{begin, more}, fault.Unavailable, "", false},
		"refused":                   {[]string{begin, `{"type":"message_delta","delta":{"stop_reason":"refusal"}}`, stop}, fault.Content, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := serve(t, "anthropic/claude-sonnet-4-5", nil, tt.events...)
			_, err := llm.Complete(t.Context(), m, llm.Request{Messages: []event.Message{user("hi")}}, nil)
			e, ok := errors.AsType[*llm.Error](err)
			if !ok || fault.KindOf(err) != tt.kind || e.Code != tt.code || e.Partial != tt.partial {
				t.Errorf("error %v (%+v)", err, e)
			}
		})
	}
}

// TestWire checks whole request bodies.
func TestWire(t *testing.T) {
	t.Parallel()
	marked := func(s string) event.Content { c := event.Text(s); c.CachePrompt = true; return c }
	warm := 0.5
	history := []event.Message{
		{Role: event.RoleSystem, Content: event.List[event.Content]{marked("static"), event.Text("dynamic")}},
		user("go"),
		{
			Role: event.RoleAssistant, Content: event.Texts("ok"),
			ThinkingBlocks: event.List[event.ThinkingBlock]{{Type: "thinking", Thinking: "", Signature: "s"}, {Type: "redacted_thinking", Data: "d"}, {Type: "thinking", Thinking: "unsigned"}},
			ToolCalls:      []event.ToolCall{{ID: "a.1", Name: "x", Arguments: ""}, {ID: "b", Name: "x", Arguments: "{"}},
		},
		{Role: event.RoleTool, ToolCallID: "b", Content: event.List[event.Content]{event.Image("data:image/jpg;base64,QUJD"), marked("two")}},
		{Role: event.RoleTool, ToolCallID: "a.1", Content: event.Texts("one")},
		user("and?"),
	}
	const messages = `"system":[{"type":"text","text":"static","cache_control":{"type":"ephemeral"}},{"type":"text","text":"dynamic"}],` +
		`"messages":[{"role":"user","content":[{"type":"text","text":"go"}]},` +
		`{"role":"assistant","content":[{"type":"thinking","thinking":"","signature":"s"},{"type":"redacted_thinking","data":"d"},{"type":"text","text":"ok"},{"type":"tool_use","id":"a_1","name":"x","input":{}},{"type":"tool_use","id":"b","name":"x","input":{"malformed_arguments":"{"}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a_1","content":[{"type":"text","text":"one"}]},{"type":"tool_result","tool_use_id":"b","content":[{"type":"image","source":{"type":"base64","media_type":"image/jpeg","data":"QUJD"}},{"type":"text","text":"two"}],"cache_control":{"type":"ephemeral"}},{"type":"text","text":"and?"}]}]}`
	const tools = `"tools":[{"name":"x","input_schema":{"type":"object","properties":{}}}],`
	for name, tt := range map[string]struct{ model, choice, want string }{
		"budget":      {"anthropic/claude-sonnet-4-5", "", `"stream":true,"thinking":{"type":"enabled","budget_tokens":16384}}`},
		"adaptive":    {"anthropic/claude-opus-4-6", "auto", `"tool_choice":{"type":"auto"},"stream":true,"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"medium"}}`},
		"none":        {"anthropic/claude-3-5-haiku", "required", `"tool_choice":{"type":"any"},"stream":true,"temperature":0.5}`},
		"forced tool": {"anthropic/claude-sonnet-4-5", "x", `"tool_choice":{"type":"tool","name":"x"},"stream":true,"temperature":0.5}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var body []byte
			m := serve(t, tt.model, &body, begin, text0, more, halt, end, stop)
			r := llm.Request{Messages: history, Tools: []llm.Tool{{Name: "x"}}, ToolChoice: tt.choice, Temperature: &warm, ReasoningEffort: "medium"}
			if _, err := llm.Complete(t.Context(), m, r, nil); err != nil {
				t.Fatal(err)
			}
			wire := strings.TrimPrefix(tt.model, "anthropic/")
			want := fmt.Sprintf(`{"model":%q,"max_tokens":%d,`, wire, m.Info().MaxOutput) + strings.TrimSuffix(tt.want, "}") + "," + tools + messages
			if diff := cmp.Diff(want, string(body)); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAtMostFourMarks(t *testing.T) {
	t.Parallel()
	var body []byte
	m := serve(t, "anthropic/claude-sonnet-4-5", &body, begin, text0, more, halt, end, stop)
	var msgs []event.Message
	for i := range 9 {
		c := event.Text(fmt.Sprint("m", i))
		c.CachePrompt = true
		role := event.RoleUser
		if i == 0 {
			role = event.RoleSystem
		}
		msgs = append(msgs, event.Message{Role: role, Content: event.List[event.Content]{c}})
	}
	if _, err := llm.Complete(t.Context(), m, llm.Request{Messages: msgs}, nil); err != nil {
		t.Fatal(err)
	}
	for i := range 9 {
		got := strings.Contains(string(body), fmt.Sprintf(`"m%d","cache_control"`, i))
		if want := i == 0 || i > 5; got != want {
			t.Errorf("mark on message %d: %v, want %v", i, got, want)
		}
	}
}

// TestEnvironmentIsNotSent checks that keys and addresses in the environment
// are not used.
func TestEnvironmentIsNotSent(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "sk-of-the-environment")
	t.Setenv("ANTHROPIC_AUTH_TOKEN", "token-of-the-environment")
	t.Setenv("ANTHROPIC_BASE_URL", "http://192.0.2.1:1")
	m := serve(t, "anthropic/claude-sonnet-4-5", nil, begin, text0, more, halt, end, stop)
	if _, err := llm.Complete(t.Context(), m, llm.Request{Messages: []event.Message{user("hi")}}, nil); err != nil {
		t.Fatal(err)
	}
}
