package gateway_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/server/agentserver/gateway"
	"github.com/deft-dev/deft/server/rest"
)

const id = "11111111-2222-3333-4444-555555555555"

// talk is a conversation that notes its messages.
type talk struct {
	outcome gateway.Outcome
	wait    func(context.Context) error
	sent    [][]event.Content
}

func (k *talk) ID() string { return id }
func (k *talk) Send(_ context.Context, c []event.Content) error {
	k.sent = append(k.sent, c)
	return nil
}
func (k *talk) Wait(ctx context.Context) error {
	if k.wait != nil {
		return k.wait(ctx)
	}
	return nil
}
func (k *talk) Outcome(context.Context) (gateway.Outcome, error) { return k.outcome, nil }

// bundle is a gateway with one profile, "main", and one conversation.
type bundle struct {
	talk    *talk
	url     string
	client  openai.Client
	started []gateway.Request
	err     error // of Start
}

func setup(t *testing.T, timeout time.Duration) *bundle {
	t.Helper()
	b := &bundle{talk: &talk{outcome: gateway.Outcome{
		Status: "finished", Text: "done", Usage: gateway.Usage{Prompt: 10, Completion: 4, Cached: 3, Reasoning: 2},
	}}}
	g := gateway.New(gateway.Options{
		Models: func(context.Context) ([]string, error) { return []string{"z", "main"}, nil },
		Check: func(_ context.Context, name string) error {
			if name != "main" {
				return fault.New(fault.NotFound, "Profile '"+name+"' not found")
			}
			return nil
		},
		Start: func(_ context.Context, r gateway.Request) (gateway.Conversation, error) {
			b.started = append(b.started, r)
			return b.talk, b.err
		},
		Find: func(_ context.Context, got string) (gateway.Conversation, error) {
			if got != id {
				return nil, fault.New(fault.NotFound, "no such conversation")
			}
			return b.talk, nil
		},
		Timeout: timeout,
	})
	h, err := rest.New(rest.Options{Routes: g.Routes(), Keys: func() []string { return []string{"key"} }})
	must.Succeed(t, err)
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	b.url = s.URL
	b.client = openai.NewClient(option.WithBaseURL(s.URL+"/v1"), option.WithAPIKey("key"), option.WithMaxRetries(0))
	return b
}

func chat(model string, messages ...openai.ChatCompletionMessageParamUnion) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{Model: model, Messages: messages}
}

// TestChat talks by OpenAI's own client.
func TestChat(t *testing.T) {
	t.Parallel()
	b := setup(t, 0)
	var answer *http.Response
	got, err := b.client.Chat.Completions.New(t.Context(), chat("openhands_main",
		openai.SystemMessage("be brief"), openai.DeveloperMessage("and kind"), openai.UserMessage("old"), openai.AssistantMessage("yes"),
		openai.UserMessage([]openai.ChatCompletionContentPartUnionParam{
			openai.TextContentPart("look"), openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: "data:x"}),
		}),
	), option.WithResponseInto(&answer))
	must.Succeed(t, err)
	if got.Choices[0].Message.Content != "done" || got.Choices[0].FinishReason != "stop" || got.Usage.TotalTokens != 14 ||
		got.Model != "openhands_main" || answer.Header.Get(gateway.IDHeader) != id {
		t.Errorf("answer: %s", got.RawJSON())
	}
	want := []gateway.Request{{
		Profile: "main", System: "be brief\n\nand kind", Content: []event.Content{event.Text("look"), event.Image("data:x")},
	}}
	if d := cmp.Diff(want, b.started); d != "" {
		t.Error(d)
	}
	// The id that was sent back leads to the same conversation.
	_, err = b.client.Chat.Completions.New(t.Context(), chat("openhands_main", openai.UserMessage("more")),
		option.WithHeader(gateway.IDHeader, strings.ReplaceAll(id, "-", "")))
	if d := cmp.Diff([][]event.Content{{event.Text("more")}}, b.talk.sent); err != nil || d != "" || len(b.started) != 1 {
		t.Errorf("%v, %s", err, d)
	}
	// A new conversation gets an unknown id.
	other := strings.Replace(id, "1", "2", 1)
	_, err = b.client.Chat.Completions.New(t.Context(), chat("openhands_main", openai.UserMessage("x")), option.WithHeader(gateway.IDHeader, other))
	if err != nil || len(b.started) != 2 || b.started[1].ID != other {
		t.Errorf("%v, started %v", err, b.started)
	}
}

func TestStream(t *testing.T) {
	t.Parallel()
	b := setup(t, 0)
	p := chat("openhands_main", openai.UserMessage("x"))
	p.StreamOptions.IncludeUsage = openai.Bool(true)
	s := b.client.Chat.Completions.NewStreaming(t.Context(), p)
	var acc openai.ChatCompletionAccumulator
	for s.Next() {
		if !acc.AddChunk(s.Current()) {
			t.Errorf("a chunk that does not fit: %s", s.Current().RawJSON())
		}
	}
	must.Succeed(t, s.Err())
	if acc.Choices[0].Message.Content != "done" || acc.Choices[0].FinishReason != "stop" || acc.Usage.TotalTokens != 14 {
		t.Errorf("streamed %+v", acc.ChatCompletion)
	}
	b.talk.outcome.Status = "error"
	s = b.client.Chat.Completions.NewStreaming(t.Context(), p)
	for s.Next() {
		t.Errorf("a chunk of a failure: %s", s.Current().RawJSON())
	}
	var failed *openai.Error
	if !errors.As(s.Err(), &failed) || failed.StatusCode != 500 {
		t.Errorf("error %v, want status 500", s.Err())
	}
}

func TestResponses(t *testing.T) {
	t.Parallel()
	b := setup(t, 0)
	got, err := b.client.Responses.New(t.Context(), responses.ResponseNewParams{
		Model: "openhands_main", Instructions: openai.String(" be brief "),
		Input: responses.ResponseNewParamsInputUnion{OfInputItemList: responses.ResponseInputParam{
			responses.ResponseInputItemParamOfMessage("rule", "developer"),
			responses.ResponseInputItemParamOfMessage("one", "user"),
			responses.ResponseInputItemParamOfMessage(responses.ResponseInputMessageContentListParam{
				responses.ResponseInputContentParamOfInputText("two"),
			}, "user"),
		}},
	})
	must.Succeed(t, err)
	if got.OutputText() != "done" || got.Usage.InputTokensDetails.CachedTokens != 3 || got.Usage.OutputTokensDetails.ReasoningTokens != 2 || got.Status != "completed" {
		t.Errorf("answer: %s", got.RawJSON())
	}
	mark := func(s string) event.Content { return event.Text(s) }
	want := []gateway.Request{{Profile: "main", System: "be brief\n\nrule", Content: []event.Content{
		mark(`<message role="user">`), mark("one"), mark("</message>"), mark(`<message role="user">`), mark("two"), mark("</message>"),
	}}}
	if d := cmp.Diff(want, b.started); d != "" {
		t.Error(d)
	}
	if _, err = b.client.Responses.New(t.Context(), responses.ResponseNewParams{
		Model: "openhands_main", Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("plain")},
	}); err != nil || b.started[1].Content[0].Text != "plain" {
		t.Errorf("%v, %v", err, b.started)
	}
}

func TestModels(t *testing.T) {
	t.Parallel()
	page, err := setup(t, 0).client.Models.List(t.Context())
	must.Succeed(t, err)
	var names []string
	for _, m := range page.Data {
		names = append(names, m.ID)
	}
	if d := cmp.Diff([]string{"openhands_main", "openhands_z"}, names); d != "" {
		t.Error(d)
	}
}

// TestErrors wants the reference's statuses, and messages where OpenAI's
// clients look for them.
func TestErrors(t *testing.T) {
	t.Parallel()
	const ok = `{"model":"openhands_main","messages":[{"role":"user","content":"x"}]}`
	tests := []struct {
		name, path, body string
		status           int
		says             string
		set              func(*bundle)
	}{
		{"unknown model", "chat/completions", `{"model":"gpt","messages":[{"role":"user","content":"x"}]}`, 404, "Unknown OpenHands model 'gpt'", nil},
		{"only the prefix", "chat/completions", `{"model":"openhands_","messages":[{"role":"user","content":"x"}]}`, 404, "Unknown", nil},
		{"unknown profile", "chat/completions", `{"model":"openhands_no","messages":[{"role":"user","content":"x"}]}`, 404, "Profile 'no' not found", nil},
		{"no model", "chat/completions", `{"messages":[]}`, 422, "Field required", nil},
		{"no messages", "chat/completions", `{"model":"openhands_main"}`, 422, "Field required", nil},
		{"no user", "chat/completions", `{"model":"openhands_main","messages":[{"role":"system","content":"x"}]}`, 400, "At least one user", nil},
		{"role", "chat/completions", `{"model":"openhands_main","messages":[{"role":"king","content":"x"}]}`, 422, "Input should be", nil},
		{"part", "chat/completions", `{"model":"openhands_main","messages":[{"role":"user","content":[{"type":"audio"}]}]}`, 400, "Unsupported content part", nil},
		{"image", "chat/completions", `{"model":"openhands_main","messages":[{"role":"user","content":[{"type":"image_url"}]}]}`, 400, "missing a url", nil},
		{"type", "chat/completions", `{"model":7,"messages":[]}`, 422, "valid string", nil},
		{"content", "chat/completions", `{"model":"openhands_main","messages":[{"role":"user","content":7}]}`, 422, "", nil},
		{"malformed", "chat/completions", `{`, 422, "JSON decode error", nil},
		{"system", "chat/completions", `{"model":"openhands_main","messages":[{"role":"system","content":"` + strings.Repeat("a", 40000) + `"},{"role":"user","content":"x"}]}`, 400, "too long", nil},
		{"paused", "chat/completions", ok, 409, "ended with status: paused", func(b *bundle) { b.talk.outcome.Status = "paused" }},
		{"stuck", "chat/completions", ok, 500, "ended with status: stuck", func(b *bundle) { b.talk.outcome.Status = "stuck" }},
		{"capacity", "chat/completions", ok, 429, "busy", func(b *bundle) { b.err = fault.New(fault.RateLimit, "busy") }},
		{"no profile", "chat/completions", ok, 409, "No active", func(b *bundle) { b.err = fault.New(fault.Conflict, "No active") }},
		{"stream", "responses", `{"model":"openhands_main","input":"x","stream":true}`, 400, "Streaming", nil},
		{"store", "responses", `{"model":"openhands_main","input":"x","store":true}`, 400, "storage", nil},
		{"previous", "responses", `{"model":"openhands_main","input":"x","previous_response_id":"r"}`, 400, "previous_response_id", nil},
		{"empty", "responses", `{"model":"openhands_main","input":""}`, 400, "must not be empty", nil},
		{"no user message", "responses", `{"model":"openhands_main","input":[{"role":"assistant","content":"x"}]}`, 400, "must include a user", nil},
		{"no content", "responses", `{"model":"openhands_main","input":[{"role":"user"}]}`, 422, "Input should be", nil},
		{"no input", "responses", `{"model":"openhands_main"}`, 422, "Field required", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, 0)
			if tt.set != nil {
				tt.set(b)
			}
			err := b.client.Post(t.Context(), tt.path, strings.NewReader(tt.body), nil, option.WithHeader("Content-Type", "application/json"))
			var failed *openai.Error
			if !errors.As(err, &failed) || failed.StatusCode != tt.status || !strings.Contains(failed.Message, tt.says) {
				t.Fatalf("error %v, want %d %q", err, tt.status, tt.says)
			}
			if raw := failed.DumpResponse(true); !strings.Contains(string(raw), `"detail":`) || failed.Type == "" {
				t.Errorf("answer %s", raw)
			}
		})
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	b := setup(t, 0)
	for header, want := range map[string]int{"Authorization: Bearer key": 200, "X-Session-API-Key: key": 200, "Authorization: Bearer no": 401, "Authorization: key": 401} {
		r, err := http.NewRequestWithContext(t.Context(), "GET", b.url+"/v1/models", nil)
		must.Succeed(t, err)
		name, value, _ := strings.Cut(header, ": ")
		r.Header.Set(name, value)
		resp, err := http.DefaultClient.Do(r)
		must.Succeed(t, err)
		if resp.Body.Close(); resp.StatusCode != want {
			t.Errorf("%s: %d, want %d", header, resp.StatusCode, want)
		}
	}
}

// TestHeaders refuses headers that are none.
func TestHeaders(t *testing.T) {
	t.Parallel()
	b := setup(t, 0)
	const observability = "X-OpenHands-Observability-"
	for _, h := range [][2]string{
		{gateway.IDHeader, "zz"}, {observability + "Metadata", "[]"}, {observability + "Metadata", "{"}, {observability + "Metadata", "null"},
		{observability + "Metadata", `{"a":null}`}, {observability + "Metadata", `{"a":{}}`}, {observability + "Metadata", `{"a":[1,"b"]}`}, {observability + "Metadata", `{"a":[1,1.5]}`}, {observability + "Metadata", `{"":1}`},
		{observability + "Span-Name", "a b"}, {observability + "Span-Name", strings.Repeat("a", 129)},
	} {
		name, value := h[0], h[1]
		_, err := b.client.Chat.Completions.New(t.Context(), chat("openhands_main", openai.UserMessage("x")), option.WithHeader(name, value))
		var failed *openai.Error
		if !errors.As(err, &failed) || failed.StatusCode != 422 {
			t.Errorf("%s: %s: %v, want status 422", name, value, err)
		}
		if name == observability+"Span-Name" && failed != nil && !strings.Contains(failed.RawJSON(), "Observability span name") {
			t.Errorf("%s: %s: %v", name, value, err)
		}
	}
}

// TestTimeout gives up waiting; the agent works on.
func TestTimeout(t *testing.T) {
	t.Parallel()
	b := setup(t, time.Nanosecond)
	b.talk.wait = func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}
	_, err := b.client.Chat.Completions.New(t.Context(), chat("openhands_main", openai.UserMessage("x")))
	var failed *openai.Error
	if !errors.As(err, &failed) || failed.StatusCode != 504 || len(b.started) != 1 {
		t.Errorf("error %v, want status 504", err)
	}
}
