package llmtest_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/openai/openai-go/v3"

	"github.com/deft-dev/deft/internal/llmtest"
	"github.com/deft-dev/deft/internal/must"
)

// outcome is a client's result.
type outcome struct {
	err     error
	status  int    // of an error answer
	code    string // type or code of the error
	content bool   // there was any content
	header  http.Header
}

// probes ask once with the official SDK of each protocol.
var probes = map[llmtest.Protocol]func(ctx context.Context, t *testing.T, srv *llmtest.Server, stream bool) outcome{
	llmtest.OpenAIChat:      probeChat,
	llmtest.OpenAIResponses: probeResponses,
	llmtest.Anthropic:       probeMessages,
}

func openaiOutcome(err error, content bool) outcome {
	o := outcome{err: err, content: content}
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
		_, err := client.Chat.Completions.New(ctx, chatParams())
		return openaiOutcome(err, err == nil)
	}
	s := client.Chat.Completions.NewStreaming(ctx, chatParams())
	content := s.Next()
	return openaiOutcome(s.Err(), content)
}

func probeResponses(ctx context.Context, t *testing.T, srv *llmtest.Server, stream bool) outcome {
	client := openaiClient(t, srv)
	if !stream {
		_, err := client.Responses.New(ctx, responsesParams())
		return openaiOutcome(err, err == nil)
	}
	s := client.Responses.NewStreaming(ctx, responsesParams())
	content := s.Next()
	return openaiOutcome(s.Err(), content)
}

func probeMessages(ctx context.Context, t *testing.T, srv *llmtest.Server, stream bool) outcome {
	client := anthropicClient(t, srv)
	var o outcome
	if stream {
		s := client.Messages.NewStreaming(ctx, messageParams())
		o.content, o.err = s.Next(), s.Err()
	} else {
		_, o.err = client.Messages.New(ctx, messageParams())
		o.content = o.err == nil
	}
	if e, ok := errors.AsType[*anthropic.Error](o.err); ok {
		o.status, o.code, o.header = e.StatusCode, string(e.Type()), e.Response.Header
	}
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
		must.Succeed(t, err)
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
	must.Succeed(t, err)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ln, err := srv.Listen(ctx, "127.0.0.1:0")
	must.Succeed(t, err)
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
