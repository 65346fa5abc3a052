package llmtest

import (
	"context"
	"errors"
	"time"
)

var errRepeat = errors.New(`repeat is a number from 1, or "forever"`)

// FaultKind is a kind of faulty answer.
type FaultKind string

// The faults. The first group are error answers in the provider's own form; the
// second breaks the connection or the data.
const (
	RateLimit     FaultKind = "rate_limit"     // 429 with Retry-After
	ServerError   FaultKind = "server_error"   // Status, default 500
	Auth          FaultKind = "auth"           // 401 (Gemini: 400 API_KEY_INVALID, as the provider does)
	ContextWindow FaultKind = "context_window" // the prompt is too long
	ContentFilter FaultKind = "content_filter" // the prompt was refused (Gemini: 200 with blockReason)
	Quota         FaultKind = "quota"          // the quota is exhausted
	BadRequest    FaultKind = "bad_request"    // 400

	Reset         FaultKind = "reset"          // TCP RST; with After 0 before the headers
	Hang          FaultKind = "hang"           // no data until the client disconnects; with After 0 before the headers
	HalfToolCall  FaultKind = "half_tool_call" // regular end in the middle of the last call's arguments
	NoFinalChunk  FaultKind = "no_final_chunk" // regular end without finish reason, usage and end mark
	MalformedJSON FaultKind = "malformed_json" // one frame is broken JSON; the stream ends there
	HTML          FaultKind = "html"           // an HTML page with Status, default 502
	Empty         FaultKind = "empty"          // a valid answer without any choice or content
)

// RetryAs is the form in which a rate limit says when to come back.
type RetryAs string

// The forms of Retry-After.
const (
	RetrySeconds RetryAs = "seconds"   // Retry-After: seconds, rounded up; the default
	RetryDate    RetryAs = "http_date" // Retry-After: an HTTP date
	RetryMillis  RetryAs = "ms"        // retry-after-ms, and Retry-After in seconds beside it
)

// Fault makes an answer faulty. In YAML it is either the kind alone or a
// mapping.
type Fault struct {
	Kind FaultKind `yaml:"kind"`
	// Status overrides the HTTP status of an error answer or of the HTML page.
	Status int `yaml:"status"`
	// Message overrides the provider's message.
	Message string `yaml:"message"`
	// RetryAfter is sent with rate_limit, and with server_error if not zero.
	// Default for rate_limit: 1 s.
	RetryAfter time.Duration `yaml:"retry_after"`
	// RetryAs is the form of RetryAfter.
	RetryAs RetryAs `yaml:"retry_as"`
	// After is the number of content deltas that are streamed before the fault.
	// For error kinds, a number above 0 makes them an error event inside a
	// stream that began with 200. Without streaming any number above 0 means
	// "in the middle of the body" for reset, hang and malformed_json, and is
	// ignored for error kinds.
	After int `yaml:"after"`
	// Times is how often the fault occurs in each session before the turn gives
	// its reply; those requests do not use the turn. Default 0: every time, and
	// the fault is the turn's answer.
	Times int `yaml:"times"`
}

// isError reports whether the fault is an error answer of the provider.
func (k FaultKind) isError() bool {
	switch k {
	case RateLimit, ServerError, Auth, ContextWindow, ContentFilter, Quota, BadRequest:
		return true
	}
	return false
}

func (k FaultKind) takesAfter() bool {
	return k.isError() || k == Reset || k == Hang || k == MalformedJSON
}

var faultKinds = []FaultKind{
	RateLimit, ServerError, Auth, ContextWindow, ContentFilter, Quota, BadRequest,
	Reset, Hang, HalfToolCall, NoFinalChunk, MalformedJSON, HTML, Empty,
}

// UnmarshalYAML implements the decoder's interface: a kind, or a mapping.
func (f *Fault) UnmarshalYAML(_ context.Context, decode func(any) error) error {
	var kind string
	if err := decode(&kind); err == nil {
		f.Kind = FaultKind(kind)
		return nil
	}
	type plain Fault // without this method
	return decode((*plain)(f))
}
