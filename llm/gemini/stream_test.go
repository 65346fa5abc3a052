package gemini_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/gemini"
)

// serve answers with a stream of events and keeps the request's body.
func serve(t *testing.T, model string, body *[]byte, events ...string) *gemini.Model {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		must.Report(t, err)
		if body != nil {
			*body = b
		}
		if want := "/v1beta/models/" + strings.TrimPrefix(model, "gemini/") + ":streamGenerateContent?alt=sse"; r.URL.String() != want || r.Header.Get("X-Goog-Api-Key") != "k" || r.Header.Get("Authorization") != "" {
			t.Errorf("URL %s, headers %v", r.URL, r.Header)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, e := range events {
			fmt.Fprintf(w, "data: %s\r\n\r\n", e)
		}
	}))
	t.Cleanup(srv.Close)
	m, err := gemini.New(llm.Config{Model: model, BaseURL: srv.URL, APIKey: "k"})
	must.Succeed(t, err)
	return m
}

const (
	done  = `{"candidates":[{"content":{"parts":[{"text":""}],"role":"model"},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":5,"thoughtsTokenCount":7,"cachedContentTokenCount":4,"toolUsePromptTokenCount":1},"modelVersion":"gemini-x","responseId":"r1"}`
	pixel = "data:image/jpg;base64,QUJD"
)

// said is an event with parts.
func said(parts string) string {
	return `{"candidates":[{"content":{"parts":[` + parts + `],"role":"model"}}]}`
}

// ended is an event with a finish reason.
func ended(reason string) string {
	return `{"candidates":[{"finishReason":"` + reason + `","finishMessage":"why  not"}],"usageMetadata":{"promptTokenCount":1}}`
}

func user(text string) event.Message {
	return event.Message{Role: event.RoleUser, Content: event.Texts(text)}
}

func TestStream(t *testing.T) {
	t.Parallel()
	m := serve(t, "gemini/gemini-2.5-pro", nil, said(`{"text":"hm","thought":true}`), said(`{"text":"a"}`), said(`{"text":"b"},{"executableCode":{}}`), done)
	resp, err := llm.Complete(t.Context(), m, llm.Request{Messages: []event.Message{user("hi")}}, nil)
	must.Succeed(t, err)
	want := llm.Usage{Prompt: 11, Output: 12, CacheRead: 4, Reasoning: 7}
	if event.JoinText(resp.Message.Content) != "ab" || resp.Message.ReasoningContent != "hm" || resp.Usage != want || resp.ID != "r1" || resp.Model != "gemini-x" || resp.Finish != llm.FinishStop {
		t.Errorf("%+v", resp)
	}
}

// TestSignatures sends an answer back to the model after storing it.
func TestSignatures(t *testing.T) {
	t.Parallel()
	var body []byte
	m := serve(t, "gemini/gemini-3-pro-preview", &body,
		said(`{"text":"plan","thought":true}`), said(`{"text":"Looking."}`), said(`{"text":"","thoughtSignature":"T+/="}`),
		said(`{"functionCall":{"name":"ls","args":{"p":"<a>"}},"thoughtSignature":"C+/="},{"functionCall":{"id":"given","name":"ls"}}`), done)
	ask := llm.Request{Messages: []event.Message{user("hi")}}
	resp, err := llm.Complete(t.Context(), m, ask, nil)
	must.Succeed(t, err)
	stored, err := json.Marshal(resp.Message)
	must.Succeed(t, err)
	var back event.Message
	must.Succeed(t, json.Unmarshal(stored, &back))
	// Adapters of other providers send signed blocks back, so this is not one.
	if b := back.ThinkingBlocks; len(b) != 1 || b[0].Signature != "" || b[0].Data != "" {
		t.Errorf("thinking blocks %+v", b)
	}
	calls := back.ToolCalls
	if len(calls) != 2 || calls[0].ID == "" || len(calls[0].ID) > 40 || calls[1].ID != "given" || calls[1].Arguments != "{}" {
		t.Fatalf("calls %+v", calls)
	}
	// A turn of another model has no signature; its own are not sent here.
	foreign := event.Message{Role: event.RoleAssistant, ThinkingBlocks: event.List[event.ThinkingBlock]{{Thinking: "x", Signature: "claude"}}, ToolCalls: []event.ToolCall{{ID: "f", Name: "ls", Arguments: "{}", ResponsesItemID: "fc_1"}}}
	ask.Messages = append(ask.Messages, back,
		event.Message{Role: event.RoleTool, ToolCallID: "given", Content: event.Texts("two")},
		event.Message{Role: event.RoleTool, ToolCallID: calls[0].ID, Content: event.List[event.Content]{event.Text("one"), event.Image(pixel)}},
		user("more"), foreign)
	if _, err := llm.Complete(t.Context(), m, ask, nil); err != nil {
		t.Fatal(err)
	}
	id := calls[0].ID
	want := `{"contents":[{"role":"user","parts":[{"text":"hi"}]},` +
		`{"role":"model","parts":[{"text":"Looking.","thoughtSignature":"T+/="},{"functionCall":{"id":"` + id + `","name":"ls","args":{"p":"<a>"}},"thoughtSignature":"C+/="},{"functionCall":{"id":"given","name":"ls","args":{}}}]},` +
		`{"role":"user","parts":[{"functionResponse":{"id":"` + id + `","name":"ls","response":{"output":"one"}}},{"functionResponse":{"id":"given","name":"ls","response":{"output":"two"}}},{"inlineData":{"mimeType":"image/jpeg","data":"QUJD"}},{"text":"more"}]},` +
		`{"role":"model","parts":[{"functionCall":{"id":"f","name":"ls","args":{}},"thoughtSignature":"skip_thought_signature_validator"}]},` +
		`{"role":"user","parts":[{"functionResponse":{"id":"f","name":"ls","response":{"output":"This tool call was not run: the conversation went on before it had a result."}}}]}]}`
	if diff := cmp.Diff(want, string(body)); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
}

// TestParameters checks whole request bodies.
func TestParameters(t *testing.T) {
	t.Parallel()
	warm := 1.5
	const tail = `"systemInstruction":{"parts":[{"text":"rules"}]},"contents":[{"role":"user","parts":[{"text":"go"},{"fileData":{"mimeType":"image/png","fileUri":"https://e.com/a.png?x=1"}},{"text":"(An image was left out: its URL is neither https nor base64 data.)"}]}]}`
	const tools = `{"tools":[{"functionDeclarations":[{"name":"x","description":"d","parameters":{"properties":{"a":{"type":"string"}},"type":"object"}},{"name":"y"}]}],`
	const common = `"generationConfig":{"maxOutputTokens":60000,"temperature":1.5,"stopSequences":["S"]`
	schema := json.RawMessage(`{"type":"object","properties":{"n":{"type":["integer","null"]}},"additionalProperties":false}`)
	const clean = `,"responseMimeType":"application/json","responseSchema":{"properties":{"n":{"nullable":true,"type":"integer"}},"type":"object"}`
	for name, tt := range map[string]struct{ model, choice, effort, want string }{
		"2.5 pro":    {"gemini-2.5-pro", "", "medium", tools + common + `,"thinkingConfig":{"includeThoughts":true,"thinkingBudget":12288}}}`},
		"2.5 flash":  {"gemini-2.5-flash", "auto", "none", tools + `"toolConfig":{"functionCallingConfig":{"mode":"AUTO"}},` + common + `,"thinkingConfig":{"thinkingBudget":0}}}`},
		"2.5 lite":   {"gemini-2.5-flash-lite", "none", "xhigh", tools + `"toolConfig":{"functionCallingConfig":{"mode":"NONE"}},` + common + `,"thinkingConfig":{"includeThoughts":true,"thinkingBudget":24576}}}`},
		"pro, none":  {"gemini-2.5-pro", "required", "none", tools + `"toolConfig":{"functionCallingConfig":{"mode":"ANY"}},` + common + `,"thinkingConfig":{"includeThoughts":true,"thinkingBudget":128}}}`},
		"3 pro":      {"gemini-3-pro-preview", "x", "medium", tools + `"toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["x"]}},` + common + clean + `,"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"low"}}}`},
		"3.1 pro":    {"gemini-3.1-pro-preview", "", "medium", tools + common + clean + `,"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"medium"}}}`},
		"3 flash":    {"gemini-3-flash-preview", "", "none", tools + common + clean + `,"thinkingConfig":{"thinkingLevel":"minimal"}}}`},
		"older":      {"gemini-2.0-flash", "", "high", tools + common + `}}`},
		"no Gemini":  {"gemma-3-27b-it", "", "high", tools + common + `}}`},
		"the newest": {"gemini-flash-latest", "", "high", tools + common + clean + `,"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"high"}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var body []byte
			m := serve(t, "gemini/"+tt.model, &body, said(`{"text":"a"}`), done)
			r := llm.Request{
				Messages: []event.Message{
					{Role: event.RoleSystem, Content: event.Texts("rules")},
					{Role: event.RoleUser, Content: event.List[event.Content]{event.Text("go"), event.Image("https://e.com/a.png?x=1", "file:///x")}},
				},
				Tools: []llm.Tool{
					{Name: "x", Description: "d", Parameters: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}},"$schema":"s"}`)},
					{Name: "y", Parameters: json.RawMessage(`{"type":"object","properties":{}}`)},
				},
				ToolChoice: tt.choice, ReasoningEffort: tt.effort, Schema: schema, MaxOutputTokens: 60_000, Temperature: &warm, Stop: []string{"S", " "},
			}
			if _, err := llm.Complete(t.Context(), m, r, nil); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.TrimSuffix(tt.want, "}")+","+tail, string(body)); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBrokenStreams(t *testing.T) {
	t.Parallel()
	const text = `{"text":"a"}`
	for name, tt := range map[string]struct {
		events  []string
		kind    fault.Kind
		code    string
		retry   bool
		partial bool
	}{
		"overloaded in the middle": {[]string{said(text), `{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}`}, fault.Unavailable, "UNAVAILABLE", true, true},
		"no finish reason":         {[]string{said(text)}, fault.Unavailable, llm.CodeTruncated, true, true},
		"nothing at all":           {nil, fault.Unavailable, llm.CodeTruncated, true, false},
		"half a document":          {[]string{said(text), `{"candidates":[{"content":{"parts":[{"te`}, fault.Unavailable, llm.CodeTruncated, true, true},
		"broken document":          {[]string{said(text), `{"candidates":}`}, fault.Unavailable, "", true, true},
		"nothing said":             {[]string{done}, fault.Unavailable, llm.CodeEmpty, true, false},
		"refused prompt":           {[]string{`{"promptFeedback":{"blockReason":"SAFETY"}}`}, fault.Content, "SAFETY", false, false},
		"refused answer":           {[]string{ended("RECITATION")}, fault.Content, "RECITATION", false, false},
		"malformed call":           {[]string{said(text), ended("MALFORMED_FUNCTION_CALL")}, fault.Unavailable, "MALFORMED_FUNCTION_CALL", true, true},
		"lost signature":           {[]string{ended("MISSING_THOUGHT_SIGNATURE")}, fault.Invalid, "MISSING_THOUGHT_SIGNATURE", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := serve(t, "gemini/gemini-2.5-pro", nil, tt.events...)
			_, err := llm.Complete(t.Context(), m, llm.Request{Messages: []event.Message{user("hi")}}, nil)
			e, ok := errors.AsType[*llm.Error](err)
			if !ok || fault.KindOf(err) != tt.kind || e.Code != tt.code || e.Retryable != tt.retry || e.Partial != tt.partial {
				t.Errorf("kind %s, error %+v", fault.KindOf(err), e)
			}
		})
	}
}

// TestRefusals checks error answers as the API gives them.
func TestRefusals(t *testing.T) {
	t.Parallel()
	const words = "You exceeded your current quota, please check your plan and billing details."
	quota := func(id, more string) string {
		return `{"error":{"code":429,"message":"` + words + `","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"` + id + `"}]}` + more + `]}}`
	}
	const delay = `,{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.4s"}`
	for name, tt := range map[string]struct {
		status int
		body   string
		kind   fault.Kind
		code   string
		wait   time.Duration
	}{
		"per minute":     {429, quota("GenerateRequestsPerMinutePerProjectPerModel-FreeTier", delay), fault.RateLimit, "RESOURCE_EXHAUSTED", 34_400 * time.Millisecond},
		"per day":        {429, quota("GenerateRequestsPerDayPerProjectPerModel-FreeTier", delay), fault.Quota, "RESOURCE_EXHAUSTED", 0},
		"only words":     {429, `{"error":{"code":429,"message":"` + words + `","status":"RESOURCE_EXHAUSTED"}}`, fault.Quota, "RESOURCE_EXHAUSTED", 0},
		"Vertex is full": {429, `{"error":{"code":429,"message":"Resource exhausted. Please try again later.","status":"RESOURCE_EXHAUSTED"}}`, fault.RateLimit, "RESOURCE_EXHAUSTED", 0},
		"array":          {429, `[` + quota("PerMinute", delay) + `]`, fault.RateLimit, "RESOURCE_EXHAUSTED", 34_400 * time.Millisecond},
		"wrong key":      {400, `{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}`, fault.Auth, "INVALID_ARGUMENT", 0},
		"no permission":  {403, `{"error":{"code":403,"message":"Permission denied","status":"PERMISSION_DENIED"}}`, fault.Auth, "PERMISSION_DENIED", 0},
		"too long":       {400, `{"error":{"code":400,"message":"The input token count (1500000) exceeds the maximum number of tokens allowed (1048575).","status":"INVALID_ARGUMENT"}}`, fault.Context, "INVALID_ARGUMENT", 0},
		"no such model":  {404, `{"error":{"code":404,"message":"models/x is not found","status":"NOT_FOUND"}}`, fault.Invalid, "NOT_FOUND", 0},
		"too slow":       {504, `{"error":{"code":504,"message":"Deadline expired","status":"DEADLINE_EXCEEDED"}}`, fault.Timeout, "DEADLINE_EXCEEDED", 0},
		"proxy":          {502, `upstream`, fault.Unavailable, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(tt.status)
				if _, err := io.WriteString(w, tt.body); err != nil {
					t.Error(err)
				}
			}))
			defer srv.Close()
			m, err := gemini.New(llm.Config{Model: "gemini/gemini-2.5-pro", BaseURL: srv.URL, APIKey: "k"})
			must.Succeed(t, err)
			_, err = llm.Complete(t.Context(), m, llm.Request{Messages: []event.Message{user("hi")}}, nil)
			e, ok := errors.AsType[*llm.Error](err)
			if !ok || fault.KindOf(err) != tt.kind || e.Code != tt.code || e.RetryAfter != tt.wait || e.Status != tt.status {
				t.Errorf("kind %s, error %+v", fault.KindOf(err), e)
			}
		})
	}
}
