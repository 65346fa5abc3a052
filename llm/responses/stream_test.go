package responses_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/responses"
)

func serve(t testing.TB, model string, h http.HandlerFunc, change ...func(*llm.Config)) *responses.Model {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	provider, _, _ := strings.Cut(model, "/")
	cfg := llm.Config{Model: model, Provider: provider, BaseURL: srv.URL, APIKey: "k"}
	for _, c := range change {
		c(&cfg)
	}
	m, err := responses.New(cfg)
	must.Succeed(t, err)
	return m
}

func stream(events ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, e := range events {
			fmt.Fprintf(w, "event: %s\ndata: %s\n\n", gjson.Get(e, "type").Str, e)
		}
	}
}

func completed(output ...string) string {
	return `{"type":"response.completed","response":{"id":"r","model":"m","status":"completed","output":[` + strings.Join(output, ",") + `],"usage":{"input_tokens":10,"output_tokens":4,"input_tokens_details":{"cached_tokens":4},"output_tokens_details":{"reasoning_tokens":2}}}}`
}

func hi() llm.Request {
	return llm.Request{Messages: []event.Message{
		{Role: event.RoleSystem, Content: event.Texts("sys")}, {Role: event.RoleUser, Content: event.Texts("hi")},
	}}
}

const (
	textDelta = `{"type":"response.output_text.delta","item_id":"m1","output_index":0,"content_index":0,"delta":"a"}`
	call1     = `{"type":"function_call","id":"fc_1","call_id":"c1","name":"x","arguments":"{\"a\":1}"}`
	call2     = `{"type":"function_call","id":"fc_2","call_id":"c2","name":"y","arguments":"{}"}`
)

func item(event string, index int, item string) string {
	return fmt.Sprintf(`{"type":"response.output_item.%s","output_index":%d,"item":%s}`, event, index, item)
}

// TestStreams checks unusual forms of streams.
func TestStreams(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		events    []string
		text      string
		reasoning string
		calls     string // id name arguments item, …
		finish    llm.Finish
	}{
		"only the final event": {events: []string{completed(`{"type":"message","id":"m1","content":[{"type":"output_text","text":"a"}]}`, call1)}, text: "a", calls: "c1 x {\"a\":1} fc_1;", finish: llm.FinishTools},
		"text without an item": {events: []string{textDelta, completed()}, text: "a", finish: llm.FinishStop},
		"two messages":         {events: []string{textDelta, `{"type":"response.output_text.delta","item_id":"m2","output_index":1,"delta":"b"}`, completed()}, text: "a\n\nb", finish: llm.FinishStop},
		"unknown events":       {events: []string{`{"type":"response.web_search_call.searching","output_index":0}`, `{"type":"keepalive","sequence_number":3}`, `{"type":"response.output_item.added","output_index":0,"item":{"type":"web_search_call","id":"w"}}`, textDelta, completed()}, text: "a", finish: llm.FinishStop},
		"refusal":              {events: []string{`{"type":"response.refusal.delta","item_id":"m1","delta":"no"}`, completed()}, text: "no", finish: llm.FinishContent},
		"refusal at once":      {events: []string{completed(`{"type":"message","id":"m1","content":[{"type":"refusal","refusal":"no"}]}`)}, text: "no", finish: llm.FinishContent},
		"incomplete by filter": {events: []string{textDelta, `{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"content_filter"}}}`}, text: "a", finish: llm.FinishContent},
		"incomplete by limit":  {events: []string{`{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}}`}, finish: llm.FinishLength},
		"interleaved calls": {events: []string{
			item("added", 0, `{"type":"function_call","id":"fc_1","call_id":"c1","name":"x","arguments":""}`),
			item("added", 1, `{"type":"function_call","id":"fc_2","call_id":"c2","name":"y","arguments":""}`),
			`{"type":"response.function_call_arguments.delta","item_id":"fc_2","output_index":1,"delta":"{"}`,
			`{"type":"response.function_call_arguments.delta","item_id":"fc_1","output_index":0,"delta":"{\"a\":1}"}`,
			`{"type":"response.function_call_arguments.delta","item_id":"fc_2","output_index":1,"delta":"}"}`,
			item("done", 0, call1), item("done", 1, call2), completed(call1, call2),
		}, calls: "c1 x {\"a\":1} fc_1;c2 y {} fc_2;", finish: llm.FinishTools},
		"every item has index 0": {events: []string{
			item("added", 0, `{"type":"function_call","id":"fc_1","call_id":"c1","name":"x"}`), item("done", 0, call1),
			item("added", 0, `{"type":"function_call","id":"fc_2","call_id":"c2","name":"y"}`), item("done", 0, call2), completed(call1, call2),
		}, calls: "c1 x {\"a\":1} fc_1;c2 y {} fc_2;", finish: llm.FinishTools},
		"ids change from event to event": {events: []string{
			item("added", 0, `{"type":"function_call","id":"fc_1","call_id":"c1","name":"x"}`),
			`{"type":"response.function_call_arguments.delta","item_id":"other","output_index":0,"delta":"{\"a\":1}"}`,
			item("done", 0, `{"type":"function_call","id":"fc_9","call_id":"c1","name":"x","arguments":"{\"a\":1}"}`), completed(),
		}, calls: "c1 x {\"a\":1} fc_1;", finish: llm.FinishTools},
		"summary of two parts": {events: []string{
			`{"type":"response.reasoning_summary_text.delta","item_id":"rs_1","output_index":0,"summary_index":0,"delta":"one"}`,
			`{"type":"response.reasoning_summary_text.delta","item_id":"rs_1","output_index":0,"summary_index":1,"delta":"two"}`,
			`{"type":"response.output_text.delta","item_id":"m1","output_index":1,"delta":"a"}`, completed(),
		}, text: "a", reasoning: "one\n\ntwo", finish: llm.FinishStop},
		"a call after a second reasoning item": {events: []string{completed(`{"type":"reasoning","id":"rs_1","encrypted_content":"e1","summary":[]}`, call1, `{"type":"reasoning","id":"rs_2","encrypted_content":"e2","summary":[{"text":"hm"}]}`, call2)},
			reasoning: "hm", calls: "c1 x {\"a\":1} fc_1;c2 y {} ;", finish: llm.FinishTools},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var said strings.Builder
			resp, err := llm.Complete(t.Context(), serve(t, "openai/gpt-5.2", stream(tt.events...)), hi(), func(d llm.Delta) { said.WriteString(d.Text + d.Reasoning) })
			must.Succeed(t, err)
			calls := ""
			for _, c := range resp.Message.ToolCalls {
				calls += fmt.Sprintf("%s %s %s %s;", c.ID, c.Name, c.Arguments, c.ResponsesItemID)
			}
			if text := event.JoinText(resp.Message.Content); text != tt.text || calls != tt.calls || resp.Finish != tt.finish ||
				resp.Message.ReasoningContent != tt.reasoning || said.String() != tt.reasoning+tt.text {
				t.Errorf("text %q, calls %q, finish %s, reasoning %q, said %q", text, calls, resp.Finish, resp.Message.ReasoningContent, said.String())
			}
		})
	}
}

func TestBrokenStreams(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		events  []string
		kind    fault.Kind
		code    string
		partial bool
	}{
		"nothing":            {nil, fault.Unavailable, llm.CodeTruncated, false},
		"no final event":     {[]string{textDelta}, fault.Unavailable, llm.CodeTruncated, true},
		"end mark alone":     {[]string{textDelta, "[DONE]"}, fault.Unavailable, llm.CodeTruncated, true},
		"empty":              {[]string{completed()}, fault.Unavailable, llm.CodeEmpty, false},
		"failed":             {[]string{textDelta, `{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"sorry"}}}`}, fault.Unavailable, "server_error", true},
		"failed wordlessly":  {[]string{`{"type":"response.failed","response":{"status":"failed","error":null}}`}, fault.Unavailable, "server_error", false},
		"failed by a limit":  {[]string{`{"type":"response.failed","response":{"status":"failed","error":{"code":"rate_limit_exceeded","message":"slow down"}}}`}, fault.RateLimit, "rate_limit_exceeded", false},
		"error":              {[]string{`{"type":"error","code":"context_length_exceeded","message":"too long","param":null}`}, fault.Context, "context_length_exceeded", false},
		"error in an object": {[]string{`{"type":"error","error":{"type":"invalid_request_error","code":"context_length_exceeded","message":"too long"}}`}, fault.Context, "context_length_exceeded", false},
		"cancelled":          {[]string{`{"type":"response.cancelled","response":{"status":"cancelled"}}`}, fault.Unavailable, "", false},
		"a nameless call":    {[]string{`{"type":"response.function_call_arguments.delta","item_id":"f","delta":"{}"}`, completed()}, fault.Unavailable, llm.CodeTruncated, true},
		"not an object":      {[]string{"[1]"}, fault.Unavailable, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := llm.Complete(t.Context(), serve(t, "openai/gpt-5.2", stream(tt.events...)), hi(), nil)
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
	r := hi()
	r.Session, r.ReasoningEffort, r.MaxOutputTokens, r.Stop, r.ToolChoice = "c1", "high", 5, []string{"X"}, "run"
	warm := 0.5
	r.Temperature, r.Schema = &warm, []byte(`{"type":"object"}`)
	r.Tools = []llm.Tool{{Name: "run", Description: "d", Parameters: []byte(`{"type":"object"}`)}}
	r.Messages = append(r.Messages,
		event.Message{Role: event.RoleAssistant, Content: event.Texts("ok"),
			ResponsesReasoningItem: &event.ReasoningItem{ID: "rs_1", Summary: []string{"s"}, EncryptedContent: "enc"},
			ToolCalls:              []event.ToolCall{{ID: "call_1", ResponsesItemID: "fc_1", Name: "run", Arguments: "{}"}}},
		event.Message{Role: event.RoleTool, ToolCallID: "call_1", Content: event.List[event.Content]{event.Text("out"), event.Image("data:image/png;base64,AA==")}},
		event.Message{Role: event.RoleSystem, Content: event.Texts("later")},
	)
	const (
		head  = `,"instructions":"sys","tool_choice":{"type":"function","name":"run"},"stream":true,"store":false`
		think = `,"include":["reasoning.encrypted_content"],"reasoning":{"effort":"high","summary":"auto"}`
		text  = `,"text":{"format":{"type":"json_schema","name":"answer","schema":{"type":"object"},"strict":false}},"max_output_tokens":16`
		user  = `,"tools":[{"type":"function","name":"run","description":"d","parameters":{"type":"object"},"strict":false}],"input":[{"type":"message","role":"user","content":"hi"},`
		tail  = `,{"type":"function_call_output","call_id":"call_1","output":[{"type":"input_text","text":"out"},{"type":"input_image","image_url":"data:image/png;base64,AA==","detail":"auto"}]},{"type":"message","role":"developer","content":"later"}]}`
		said  = `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"ok"}]},{"type":"function_call",`
		rs    = `{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"s"}],"encrypted_content":"enc"},`
		bare  = `"call_id":"call_1","name":"run","arguments":"{}"}`
	)
	for model, want := range map[string]string{
		"openai/gpt-5.2":    `{"model":"gpt-5.2"` + head + think + text + `,"prompt_cache_key":"c1","prompt_cache_retention":"24h"` + user + rs + said + `"id":"fc_1",` + bare + tail,
		"azure/gpt-5.2":     `{"model":"gpt-5.2"` + head + think + text + `,"prompt_cache_key":"c1"` + user + rs + said + `"id":"fc_1",` + bare + tail,
		"openai/gpt-4o":     `{"model":"gpt-4o"` + head + text + `,"temperature":0.5,"prompt_cache_key":"c1"` + user + said + bare + tail,
		"openai/gpt-6.9-xl": `{"model":"gpt-6.9-xl"` + head + think + text + `,"prompt_cache_key":"c1"` + user + rs + said + `"id":"fc_1",` + bare + tail,
	} {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			var body atomic.Value
			m := serve(t, model, func(w http.ResponseWriter, req *http.Request) {
				b, _ := io.ReadAll(req.Body)
				body.Store(string(b))
				stream(textDelta, completed())(w, req)
			})
			for range 2 { // the second time from the log
				if _, err := llm.Complete(t.Context(), m, r, nil); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, body.Load()); diff != "" {
					t.Errorf("body (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// TestRefusedReasoning changes the account in the middle of a conversation.
func TestRefusedReasoning(t *testing.T) {
	t.Parallel()
	var bodies []string
	m := serve(t, "openai/gpt-5.2", func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		bodies = append(bodies, string(b))
		switch {
		case strings.Contains(string(b), "encrypted by another"):
			w.WriteHeader(400)
			fmt.Fprint(w, `{"error":{"message":"The encrypted content could not be verified.","type":"invalid_request_error","param":null,"code":"invalid_encrypted_content"}}`)
		case gjson.GetBytes(b, "reasoning.summary").Exists():
			w.WriteHeader(400)
			fmt.Fprint(w, `{"error":{"message":"Your organization must be verified to generate reasoning summaries.","type":"invalid_request_error","param":"reasoning.summary","code":"unsupported_value"}}`)
		default:
			stream(textDelta, completed())(w, r)
		}
	})
	r := hi()
	r.Messages = append(r.Messages, event.Message{Role: event.RoleAssistant, Content: event.Texts("x"),
		ResponsesReasoningItem: &event.ReasoningItem{ID: "rs_1", EncryptedContent: "encrypted by another"}}, r.Messages[1])
	if _, err := llm.Complete(t.Context(), m, r, nil); err != nil || len(bodies) != 3 {
		t.Fatalf("%d requests, %v", len(bodies), err)
	}
	// Reasoning that was refused once is not sent again; later reasoning is.
	r.Messages = append(r.Messages, event.Message{Role: event.RoleAssistant, Content: event.Texts("y"),
		ResponsesReasoningItem: &event.ReasoningItem{ID: "rs_2", EncryptedContent: "readable"}}, r.Messages[1])
	if _, err := llm.Complete(t.Context(), m, r, nil); err != nil || len(bodies) != 4 || !strings.Contains(bodies[3], "readable") {
		t.Errorf("%d requests, %v: %q", len(bodies), err, bodies)
	}
}

// TestRefusedIDs calls an endpoint that looks up ids of items that it did not
// store.
func TestRefusedIDs(t *testing.T) {
	t.Parallel()
	var bodies []string
	m := serve(t, "azure/gpt-5.2", func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		bodies = append(bodies, string(b))
		if strings.Contains(string(b), `"id":`) {
			w.WriteHeader(404)
			fmt.Fprint(w, `{"error":{"message":"Item with id 'rs_1' not found. Items are not persisted when `+"`store`"+` is set to false. Try again with `+"`store`"+` set to true, or remove this item from your input.","type":"invalid_request_error","param":"input","code":null}}`)
			return
		}
		stream(textDelta, completed())(w, r)
	})
	r := hi()
	r.Messages = append(r.Messages, event.Message{Role: event.RoleAssistant, ResponsesReasoningItem: &event.ReasoningItem{ID: "rs_1", EncryptedContent: "enc"},
		ToolCalls: []event.ToolCall{{ID: "c1", ResponsesItemID: "fc_1", Name: "x", Arguments: "{}"}}})
	for range 2 {
		if _, err := llm.Complete(t.Context(), m, r, nil); err != nil {
			t.Fatal(err)
		}
	}
	if len(bodies) != 3 || !strings.Contains(bodies[2], `"encrypted_content":"enc"`) {
		t.Errorf("%d requests: %q", len(bodies), bodies)
	}
}

// TestRefusedByAzure is TestRefusedReasoning where the error has no code.
func TestRefusedByAzure(t *testing.T) {
	t.Parallel()
	m := serve(t, "azure/gpt-5.2", func(w http.ResponseWriter, r *http.Request) {
		if b, _ := io.ReadAll(r.Body); strings.Contains(string(b), "encrypted_content\":\"other") {
			w.WriteHeader(400)
			fmt.Fprint(w, `{"error":{"message":"The encrypted content othe...rwXBV could not be verified.","type":"invalid_request_error","param":null,"code":null}}`)
			return
		}
		stream(textDelta, completed())(w, r)
	})
	r := hi()
	r.Messages = append(r.Messages, event.Message{Role: event.RoleAssistant, Content: event.Texts("x"),
		ResponsesReasoningItem: &event.ReasoningItem{ID: "rs_1", EncryptedContent: "other"}}, r.Messages[1])
	if _, err := llm.Complete(t.Context(), m, r, nil); err != nil {
		t.Error(err)
	}
}

func TestRefusedForGood(t *testing.T) {
	t.Parallel()
	var n atomic.Int32
	m := serve(t, "openai/gpt-5.2", func(w http.ResponseWriter, _ *http.Request) {
		n.Add(1)
		w.WriteHeader(400)
		fmt.Fprint(w, `{"error":{"message":"The encrypted content could not be verified.","code":"invalid_encrypted_content"}}`)
	})
	if _, err := llm.Complete(t.Context(), m, hi(), nil); fault.KindOf(err) != fault.Invalid || n.Load() != 1 {
		t.Errorf("%d requests, %v", n.Load(), err)
	}
}

func TestAzurePaths(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{
		"": "/openai/v1/responses", "preview": "/openai/v1/responses?api-version=preview", "2025-04-01-preview": "/openai/responses?api-version=2025-04-01-preview",
	} {
		m := serve(t, "azure/gpt-5.2", func(w http.ResponseWriter, r *http.Request) {
			if r.URL.String() != want || r.Header.Get("Api-Key") != "k" || r.Header.Get("Authorization") != "" {
				t.Errorf("version %q: %s, headers %v", version, r.URL, r.Header)
			}
			stream(textDelta, completed())(w, r)
		}, func(c *llm.Config) { c.APIVersion = version })
		if _, err := llm.Complete(t.Context(), m, hi(), nil); err != nil {
			t.Fatal(err)
		}
	}
}
