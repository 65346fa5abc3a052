package llmtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/openai/openai-go/v3"

	"github.com/deft-dev/deft/internal/llmtest"
)

// outcome is a client's result.
type outcome struct {
	err      error
	status   int    // of an error answer
	code     string // type or code of the error
	finished bool   // the end of the answer was seen
	content  bool   // there was any content
	args     string // of the last tool call
	header   http.Header
}

// probes ask once with the official SDK of each protocol.
var probes = map[llmtest.Protocol]func(ctx context.Context, t *testing.T, srv *llmtest.Server, stream bool) outcome{
	llmtest.OpenAIChat:      probeChat,
	llmtest.OpenAIResponses: probeResponses,
	llmtest.Anthropic:       probeMessages,
}

func openaiOutcome(err error) outcome {
	o := outcome{err: err}
	if e, ok := errors.AsType[*openai.Error](err); ok {
		o.status, o.code, o.header = e.StatusCode, e.Code, e.Response.Header
		if o.code == "" {
			o.code = e.Type
		}
	}
	return o
}

func probeChat(ctx context.Context, t *testing.T, srv *llmtest.Server, stream bool) outcome {
	client := openaiClient(t, srv)
	if !stream {
		c, err := client.Chat.Completions.New(ctx, chatParams())
		o := openaiOutcome(err)
		if err == nil && len(c.Choices) > 0 {
			o.finished, o.content = c.Choices[0].FinishReason != "", true
		}
		return o
	}
	s := client.Chat.Completions.NewStreaming(ctx, chatParams())
	var acc openai.ChatCompletionAccumulator
	for s.Next() {
		acc.AddChunk(s.Current())
	}
	o := openaiOutcome(s.Err())
	if len(acc.Choices) > 0 {
		o.finished, o.content = acc.Choices[0].FinishReason != "", true
		if calls := acc.Choices[0].Message.ToolCalls; len(calls) > 0 {
			o.args = calls[len(calls)-1].Function.Arguments
		}
	}
	return o
}

func probeResponses(ctx context.Context, t *testing.T, srv *llmtest.Server, stream bool) outcome {
	client := openaiClient(t, srv)
	if !stream {
		r, err := client.Responses.New(ctx, responsesParams())
		o := openaiOutcome(err)
		if err == nil {
			o.finished, o.content = r.Status == "completed", len(r.Output) > 0
		}
		return o
	}
	s := client.Responses.NewStreaming(ctx, responsesParams())
	var o outcome
	args := map[int64]string{}
	last := int64(0)
	finished, content := false, false
	for s.Next() {
		switch ev := s.Current(); ev.Type {
		case "response.completed":
			finished = true
		case "response.output_item.added":
			content = true
		case "response.function_call_arguments.delta":
			args[ev.OutputIndex] += ev.Delta
			last = max(last, ev.OutputIndex)
		case "error":
			o.code = ev.Code
		}
	}
	code := o.code
	o = openaiOutcome(s.Err())
	if code != "" {
		o.code, o.err = code, errors.New("error event: "+code)
	}
	o.finished, o.content, o.args = finished, content, args[last]
	return o
}

func probeMessages(ctx context.Context, t *testing.T, srv *llmtest.Server, stream bool) outcome {
	client := anthropicClient(t, srv)
	of := func(err error) outcome {
		o := outcome{err: err}
		if e, ok := errors.AsType[*anthropic.Error](err); ok {
			o.status, o.code, o.header = e.StatusCode, string(e.Type()), e.Response.Header
		}
		return o
	}
	if !stream {
		m, err := client.Messages.New(ctx, messageParams())
		o := of(err)
		if err == nil {
			o.finished, o.content = m.StopReason != "", len(m.Content) > 0
		}
		return o
	}
	s := client.Messages.NewStreaming(ctx, messageParams())
	finished, content, args := false, false, ""
	for s.Next() {
		switch ev := s.Current(); ev.Type {
		case "message_stop":
			finished = true
		case "content_block_start":
			content, args = true, ""
		case "content_block_delta":
			args += ev.Delta.PartialJSON
		}
	}
	o := of(s.Err())
	o.finished, o.content, o.args = finished, content, args
	return o
}

// eachProbe runs check for all protocols, streaming and not, against a server
// whose only turn has the fault.
func eachProbe(t *testing.T, f llmtest.Fault, check func(t *testing.T, p llmtest.Protocol, stream bool, o outcome)) {
	t.Helper()
	for p, probe := range probes {
		for _, stream := range []bool{false, true} {
			name := string(p)
			if stream {
				name += "/stream"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				script := parse(t, rich)
				script.Turns[0].Fault = &f
				srv := llmtest.Start(t, script)
				check(t, p, stream, probe(t.Context(), t, srv, stream))
			})
		}
	}
}

func TestErrorFaults(t *testing.T) {
	t.Parallel()
	type want struct {
		status int
		code   string
	}
	for _, tc := range []struct {
		fault             llmtest.Fault
		openai, anthropic want
	}{
		{llmtest.Fault{Kind: llmtest.RateLimit}, want{429, "rate_limit_exceeded"}, want{429, "rate_limit_error"}},
		{llmtest.Fault{Kind: llmtest.ServerError}, want{500, "server_error"}, want{500, "api_error"}},
		{llmtest.Fault{Kind: llmtest.ServerError, Status: 502}, want{502, "server_error"}, want{502, "api_error"}},
		{llmtest.Fault{Kind: llmtest.ServerError, Status: 503}, want{503, "server_error"}, want{503, "overloaded_error"}},
		{llmtest.Fault{Kind: llmtest.ServerError, Status: 529}, want{529, "server_error"}, want{529, "overloaded_error"}},
		{llmtest.Fault{Kind: llmtest.Auth}, want{401, "invalid_api_key"}, want{401, "authentication_error"}},
		{llmtest.Fault{Kind: llmtest.ContextWindow}, want{400, "context_length_exceeded"}, want{400, "invalid_request_error"}},
		{llmtest.Fault{Kind: llmtest.ContentFilter}, want{400, "content_filter"}, want{400, "invalid_request_error"}},
		{llmtest.Fault{Kind: llmtest.Quota}, want{429, "insufficient_quota"}, want{400, "invalid_request_error"}},
		{llmtest.Fault{Kind: llmtest.BadRequest}, want{400, "invalid_request_error"}, want{400, "invalid_request_error"}},
	} {
		t.Run(string(tc.fault.Kind), func(t *testing.T) {
			t.Parallel()
			eachProbe(t, tc.fault, func(t *testing.T, p llmtest.Protocol, _ bool, o outcome) {
				w := tc.openai
				if p == llmtest.Anthropic {
					w = tc.anthropic
				}
				if o.status != w.status || o.code != w.code || o.content {
					t.Errorf("status %d, code %q, content %v; want %+v (%v)", o.status, o.code, o.content, w, o.err)
				}
			})
		})
	}
}

func TestErrorInStream(t *testing.T) {
	t.Parallel()
	eachProbe(t, llmtest.Fault{Kind: llmtest.ServerError, Status: 503, After: 3}, func(t *testing.T, p llmtest.Protocol, stream bool, o outcome) {
		if !stream {
			if o.status != 503 {
				t.Errorf("status %d, error %v", o.status, o.err)
			}
			return
		}
		if o.err == nil || !o.content || o.finished {
			t.Errorf("error %v, content %v, finished %v", o.err, o.content, o.finished)
		}
	})
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		as   llmtest.RetryAs
		want func(h http.Header) bool
	}{
		{"", func(h http.Header) bool { return h.Get("Retry-After") == "2" }},
		{llmtest.RetryMillis, func(h http.Header) bool { return h.Get("Retry-After-Ms") == "1500" && h.Get("Retry-After") == "2" }},
		{llmtest.RetryDate, func(h http.Header) bool {
			_, err := http.ParseTime(h.Get("Retry-After"))
			return err == nil
		}},
	} {
		eachProbe(t, llmtest.Fault{Kind: llmtest.RateLimit, RetryAfter: 1500e6, RetryAs: tc.as}, func(t *testing.T, _ llmtest.Protocol, _ bool, o outcome) {
			if !tc.want(o.header) {
				t.Errorf("headers for %q: %v", tc.as, o.header)
			}
		})
	}
}

func TestBrokenAnswers(t *testing.T) {
	t.Parallel()
	type expect func(stream bool, o outcome) bool
	broken := func(_ bool, o outcome) bool { return o.err != nil && !o.finished }
	// A clean end that lacks its end: only the missing finish tells.
	silent := func(stream bool, o outcome) bool {
		if !stream {
			return errors.Is(o.err, io.ErrUnexpectedEOF)
		}
		return o.err == nil && o.content && !o.finished
	}
	for name, tc := range map[string]struct {
		fault llmtest.Fault
		want  expect
	}{
		"reset": {llmtest.Fault{Kind: llmtest.Reset}, func(_ bool, o outcome) bool {
			return (errors.Is(o.err, syscall.ECONNRESET) || errors.Is(o.err, io.EOF)) && !o.content
		}},
		"reset in the middle": {llmtest.Fault{Kind: llmtest.Reset, After: 3}, func(stream bool, o outcome) bool {
			return errors.Is(o.err, syscall.ECONNRESET) && o.content == stream
		}},
		"half tool call": {llmtest.Fault{Kind: llmtest.HalfToolCall}, func(stream bool, o outcome) bool {
			return silent(stream, o) && (!stream || o.args != "" && !json.Valid([]byte(o.args)))
		}},
		"no final chunk": {llmtest.Fault{Kind: llmtest.NoFinalChunk}, func(stream bool, o outcome) bool {
			return silent(stream, o) && (!stream || json.Valid([]byte(o.args)))
		}},
		"malformed":               {llmtest.Fault{Kind: llmtest.MalformedJSON}, broken},
		"malformed in the middle": {llmtest.Fault{Kind: llmtest.MalformedJSON, After: 2}, broken},
		"html":                    {llmtest.Fault{Kind: llmtest.HTML}, func(_ bool, o outcome) bool { return o.status == 502 }},
		"html with 200": {llmtest.Fault{Kind: llmtest.HTML, Status: 200}, func(stream bool, o outcome) bool {
			return !o.content && !o.finished && (stream || o.err != nil)
		}},
		"empty": {llmtest.Fault{Kind: llmtest.Empty}, func(_ bool, o outcome) bool { return o.err == nil && !o.content }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachProbe(t, tc.fault, func(t *testing.T, _ llmtest.Protocol, stream bool, o outcome) {
				if !tc.want(stream, o) {
					t.Errorf("error %v, status %d, content %v, finished %v, args %q", o.err, o.status, o.content, o.finished, o.args)
				}
			})
		})
	}
}

// TestHang cancels a request as soon as it has arrived, which ends the hang.
func TestHang(t *testing.T) {
	t.Parallel()
	for p, probe := range probes {
		for _, after := range []int{0, 2} {
			for _, stream := range []bool{false, true} {
				t.Run(string(p), func(t *testing.T) {
					t.Parallel()
					script := parse(t, rich)
					script.Turns[0].Fault = &llmtest.Fault{Kind: llmtest.Hang, After: after}
					srv := llmtest.Start(t, script)
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					done := make(chan outcome, 1)
					go func() { done <- probe(ctx, t, srv, stream) }()
					if _, err := srv.Wait(t.Context(), 1); err != nil {
						t.Error(err)
					}
					cancel()
					if o := <-done; !errors.Is(o.err, context.Canceled) || o.finished {
						t.Errorf("error %v, finished %v", o.err, o.finished)
					}
				})
			}
		}
	}
}

// TestHangInStream reads the data before the hang.
func TestHangInStream(t *testing.T) {
	t.Parallel()
	script := parse(t, rich)
	script.Turns[0].Fault = &llmtest.Fault{Kind: llmtest.Hang, After: 4}
	srv := llmtest.Start(t, script)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	client := openaiClient(t, srv)
	s := client.Chat.Completions.NewStreaming(ctx, chatParams())
	for range 5 { // the role, then four deltas
		if !s.Next() {
			t.Fatalf("stream ended early: %v", s.Err())
		}
	}
	cancel()
	if s.Next() || !errors.Is(s.Err(), context.Canceled) {
		t.Errorf("error %v", s.Err())
	}
}

// TestFaultTimes fails twice, then answers: the SDK's own retries succeed.
func TestFaultTimes(t *testing.T) {
	t.Parallel()
	srv := llmtest.Start(t, parse(t, `
turns:
  - fault: {kind: rate_limit, retry_after: 1ms, retry_as: ms, times: 2}
    reply: {text: "call {{.Call}}"}
  - reply: {text: second}
`))
	client := openaiClient(t, srv)
	for _, want := range []string{"call 3", "second"} {
		c, err := client.Chat.Completions.New(t.Context(), chatParams(), retries(2))
		if err != nil {
			t.Fatal(err)
		}
		if got := c.Choices[0].Message.Content; got != want {
			t.Errorf("text %q, want %q", got, want)
		}
	}
	if reqs := srv.Requests(); len(reqs) != 4 || reqs[1].Fault != llmtest.RateLimit || reqs[2].Fault != "" {
		t.Errorf("%d requests", len(reqs))
	}
}

// TestServeReleasesHangs ends the server while a request hangs.
func TestServeReleasesHangs(t *testing.T) {
	t.Parallel()
	srv, err := llmtest.New(parse(t, "turns: [{fault: hang}]"), llmtest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ln, err := srv.Listen(ctx, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served, asked := make(chan error, 1), make(chan error, 1)
	go func() { served <- srv.Serve(ctx, ln) }()
	go func() {
		_, _, err := post(t, srv, "/v1/messages", `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"x"}]}`)
		asked <- err
	}()
	if _, err := srv.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	stop()
	if err := <-served; err != nil {
		t.Errorf("serve: %v", err)
	}
	if err := <-asked; err != nil && !strings.Contains(err.Error(), "EOF") {
		t.Errorf("client: %v", err)
	}
}
