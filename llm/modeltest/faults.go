package modeltest

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/llmtest"
	"github.com/deft-dev/deft/llm"
)

// faultCase is a faulty answer and the expected error.
type faultCase struct {
	name       string
	fault      llmtest.Fault
	kind       fault.Kind
	retryable  bool
	partial    bool // while streaming
	streamOnly bool
	wait       time.Duration // least RetryAfter
	code       string
}

var faults = []faultCase{
	{name: "rate limit", fault: llmtest.Fault{Kind: llmtest.RateLimit, RetryAfter: 2 * time.Second}, kind: fault.RateLimit, retryable: true, wait: 2 * time.Second},
	{name: "rate limit until a date", fault: llmtest.Fault{Kind: llmtest.RateLimit, RetryAfter: time.Minute, RetryAs: llmtest.RetryDate}, kind: fault.RateLimit, retryable: true, wait: 31 * time.Second},
	{name: "rate limit in ms", fault: llmtest.Fault{Kind: llmtest.RateLimit, RetryAfter: 1500 * time.Millisecond, RetryAs: llmtest.RetryMillis}, kind: fault.RateLimit, retryable: true, wait: 1500 * time.Millisecond},
	{name: "server error", fault: llmtest.Fault{Kind: llmtest.ServerError}, kind: fault.Unavailable, retryable: true},
	{name: "503", fault: llmtest.Fault{Kind: llmtest.ServerError, Status: 503}, kind: fault.Unavailable, retryable: true},
	{name: "529", fault: llmtest.Fault{Kind: llmtest.ServerError, Status: 529}, kind: fault.Unavailable, retryable: true},
	{name: "server error inside a stream", fault: llmtest.Fault{Kind: llmtest.ServerError, Status: 529, After: 2}, kind: fault.Unavailable, retryable: true, partial: true, streamOnly: true},
	{name: "auth", fault: llmtest.Fault{Kind: llmtest.Auth}, kind: fault.Auth},
	{name: "server error with 401", fault: llmtest.Fault{Kind: llmtest.ServerError, Status: 401}, kind: fault.Auth},
	{name: "server error with 403", fault: llmtest.Fault{Kind: llmtest.ServerError, Status: 403}, kind: fault.Auth},
	{name: "server error with 400", fault: llmtest.Fault{Kind: llmtest.ServerError, Status: 400, Message: "no"}, kind: fault.Invalid},
	{name: "server error with 422", fault: llmtest.Fault{Kind: llmtest.ServerError, Status: 422, Message: "no"}, kind: fault.Invalid},
	{name: "rate limit with 403", fault: llmtest.Fault{Kind: llmtest.RateLimit, Status: 403, RetryAfter: time.Second}, kind: fault.Auth, wait: time.Second},
	{name: "context window", fault: llmtest.Fault{Kind: llmtest.ContextWindow}, kind: fault.Context},
	{name: "content filter", fault: llmtest.Fault{Kind: llmtest.ContentFilter}, kind: fault.Content},
	{name: "quota", fault: llmtest.Fault{Kind: llmtest.Quota}, kind: fault.Quota},
	{name: "bad request", fault: llmtest.Fault{Kind: llmtest.BadRequest}, kind: fault.Invalid},
	{name: "reset before the headers", fault: llmtest.Fault{Kind: llmtest.Reset}, kind: fault.Unavailable, retryable: true},
	{name: "reset in the middle", fault: llmtest.Fault{Kind: llmtest.Reset, After: 2}, kind: fault.Unavailable, retryable: true, partial: true},
	{name: "no final chunk", fault: llmtest.Fault{Kind: llmtest.NoFinalChunk}, kind: fault.Unavailable, retryable: true, partial: true, streamOnly: true, code: llm.CodeTruncated},
	{name: "half a tool call", fault: llmtest.Fault{Kind: llmtest.HalfToolCall}, kind: fault.Unavailable, retryable: true, partial: true, streamOnly: true, code: llm.CodeTruncated},
	{name: "malformed JSON", fault: llmtest.Fault{Kind: llmtest.MalformedJSON}, kind: fault.Unavailable, retryable: true},
	{name: "malformed JSON later", fault: llmtest.Fault{Kind: llmtest.MalformedJSON, After: 2}, kind: fault.Unavailable, retryable: true, partial: true},
	{name: "web page", fault: llmtest.Fault{Kind: llmtest.HTML}, kind: fault.Unavailable, retryable: true},
	{name: "web page with 404", fault: llmtest.Fault{Kind: llmtest.HTML, Status: 404}, kind: fault.Invalid},
	{name: "web page with 200", fault: llmtest.Fault{Kind: llmtest.HTML, Status: 200}, kind: fault.Invalid},
	{name: "nothing", fault: llmtest.Fault{Kind: llmtest.Empty}, kind: fault.Unavailable, retryable: true, code: llm.CodeEmpty},
}

func (c faultCase) run(t *testing.T, a Adapter, stream bool) {
	if c.streamOnly && !stream {
		return
	}
	f := c.fault
	script := &llmtest.Script{Turns: []llmtest.Turn{{
		Fault:  &f,
		Reply:  llmtest.Reply{Text: "A text of several chunks.", ToolCalls: []llmtest.ToolCall{{Name: "terminal", Arguments: map[string]any{"command": "sleep 1000000"}}}},
		Pacing: llmtest.Pacing{ChunkSize: 4},
	}}}
	b := start(t, a, stream, script)
	r := hello()
	r.Tools = tools
	o := b.ask(t.Context(), r)
	e, ok := errors.AsType[*llm.Error](o.err)
	if !ok {
		t.Fatalf("error %v (%T), answer %+v", o.err, o.err, o.resp)
	}
	if o.resp != nil {
		t.Error("an answer besides the error")
	}
	if fault.KindOf(o.err) != c.kind || e.Retryable != c.retryable {
		t.Errorf("kind %s, retryable %v, want %s, %v: %v", fault.KindOf(o.err), e.Retryable, c.kind, c.retryable, o.err)
	}
	if e.Partial != (c.partial && stream) {
		t.Errorf("partial %v: %v", e.Partial, o.err)
	}
	if e.RetryAfter < c.wait || c.wait == 0 && e.RetryAfter != 0 || e.RetryAfter > 2*c.wait {
		t.Errorf("retry after %v, want %v", e.RetryAfter, c.wait)
	}
	if c.code != "" && e.Code != c.code {
		t.Errorf("code %q, want %q", e.Code, c.code)
	}
	if e.Provider == "" || e.Model != a.Model || strings.Contains(o.err.Error(), "\n") || strings.Contains(o.err.Error(), "<") {
		t.Errorf("provider %q, model %q, text %q", e.Provider, e.Model, o.err)
	}
}

const emptyCase = "empty answer with a usage"

// runEmpty: an empty answer is an error with the provider's count of tokens.
func runEmpty(t *testing.T, a Adapter, stream bool) {
	b := start(t, a, stream, &llmtest.Script{Turns: []llmtest.Turn{{Reply: llmtest.Reply{Usage: &llmtest.Usage{Input: 120, Output: 3}}}}})
	o := b.ask(t.Context(), hello())
	e, ok := errors.AsType[*llm.Error](o.err)
	if !ok || e.Code != llm.CodeEmpty {
		t.Fatalf("error %v, want one of an empty answer", o.err)
	}
	if len(e.Discarded) != 1 || e.Discarded[0].Usage.Prompt != 120 || e.Discarded[0].Usage.Output != 3 {
		t.Errorf("it was counted as %+v", e.Discarded)
	}
}
