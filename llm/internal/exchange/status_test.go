package exchange_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/internal/exchange"
)

func endpoint() *exchange.Endpoint {
	return exchange.New("p", llm.Config{Model: "p/m", APIKey: "sk-my-secret-key", BaseURL: "https://user:pw@host.example/v1?key=q"}, "")
}

// TestErrorForms checks error answers of real providers and servers.
func TestErrorForms(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		status int
		body   string
		kind   fault.Kind
		code   string
	}{
		"OpenAI quota":           {429, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`, fault.Quota, "insufficient_quota"},
		"OpenAI rate limit":      {429, `{"error":{"message":"Rate limit reached; please reduce the length of the messages","type":"tokens","code":"rate_limit_exceeded"}}`, fault.RateLimit, "rate_limit_exceeded"},
		"OpenAI context":         {400, `{"error":{"message":"too long","type":"invalid_request_error","code":"context_length_exceeded"}}`, fault.Context, "context_length_exceeded"},
		"OpenAI model":           {404, `{"error":{"message":"The model does not exist","type":"invalid_request_error","code":"model_not_found"}}`, fault.Invalid, "model_not_found"},
		"OpenAI key":             {401, `{"error":{"message":"Incorrect API key provided: sk-my-secret-key","type":"invalid_request_error","code":"invalid_api_key"}}`, fault.Auth, "invalid_api_key"},
		"Azure filter":           {400, `{"error":{"message":"…","type":null,"param":"prompt","code":"content_filter","status":400}}`, fault.Content, "content_filter"},
		"Anthropic overloaded":   {529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, fault.Unavailable, "overloaded_error"},
		"Anthropic too large":    {413, `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`, fault.Context, "request_too_large"},
		"Anthropic context":      {400, `{"type":"error","error":{"type":"invalid_request_error","message":"input length and ` + "`max_tokens`" + ` exceed context limit: 1 + 2 > 2"}}`, fault.Context, "invalid_request_error"},
		"Anthropic credit":       {400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low"}}`, fault.Quota, "invalid_request_error"},
		"Anthropic permission":   {403, `{"type":"error","error":{"type":"permission_error","message":"no"}}`, fault.Auth, "permission_error"},
		"LiteLLM budget":         {400, `{"error":{"message":"Budget has been exceeded! Current cost: 1, Max budget: 1","type":"budget_exceeded","param":null,"code":"400"}}`, fault.Quota, "budget_exceeded"},
		"LiteLLM context":        {500, `{"error":{"message":"litellm.ContextWindowExceededError: too long","type":"server_error","code":"500"}}`, fault.Context, "server_error"},
		"llama.cpp context":      {400, `{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}`, fault.Context, "exceed_context_size_error"},
		"Ollama":                 {404, `{"error":"model 'x' not found"}`, fault.Invalid, ""},
		"FastAPI":                {401, `{"detail":"Unauthorized"}`, fault.Auth, ""},
		"older vLLM":             {400, `{"object":"error","message":"This model's maximum context length is 4096 tokens","type":"BadRequestError","code":400}`, fault.Context, "BadRequestError"},
		"Gemini's list":          {429, `[{"error":{"code":429,"message":"Resource has been exhausted","status":"RESOURCE_EXHAUSTED"}}]`, fault.RateLimit, "RESOURCE_EXHAUSTED"},
		"OpenRouter in a stream": {0, `{"error":{"code":502,"message":"Provider returned error","metadata":{"raw":"upstream died"}}}`, fault.Unavailable, ""},
		"DeepSeek balance":       {402, `{"error":{"message":"Insufficient Balance","type":"unknown_error"}}`, fault.Quota, "unknown_error"},
		"conflict":               {409, `{}`, fault.Unavailable, ""},
		"request timeout":        {408, ``, fault.Timeout, ""},
		"gateway timeout":        {504, `upstream request timeout`, fault.Timeout, ""},
		"plain text":             {500, `oops`, fault.Unavailable, ""},
		"history":                {400, `{"error":{"message":"An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'."}}`, fault.Invalid, ""},
		"unknown":                {418, `{"error":{"message":"I am a teapot"}}`, fault.Invalid, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := endpoint().StatusError(tt.status, nil, []byte(tt.body))
			if fault.KindOf(e) != tt.kind || e.Code != tt.code {
				t.Errorf("kind %s, code %q, want %s, %q: %v", fault.KindOf(e), e.Code, tt.kind, tt.code, e)
			}
			want := tt.kind == fault.RateLimit || tt.kind == fault.Unavailable || tt.kind == fault.Timeout
			if e.Retryable != want || strings.Contains(e.Error(), "secret") {
				t.Errorf("retryable %v: %v", e.Retryable, e)
			}
		})
	}
}

// TestStatusOverBody checks that no type, code or message of a body makes an
// error temporary that the HTTP status calls final. An error inside a stream
// has no HTTP status; the body decides.
func TestStatusOverBody(t *testing.T) {
	t.Parallel()
	statuses := map[int]fault.Kind{
		400: fault.Invalid, 401: fault.Auth, 402: fault.Quota, 403: fault.Auth, 404: fault.Invalid,
		405: fault.Invalid, 307: fault.Invalid, 413: fault.Context, 415: fault.Invalid, 422: fault.Invalid, 451: fault.Invalid,
		0: fault.Unavailable, 408: fault.Unavailable, 409: fault.Unavailable, 424: fault.Unavailable,
		429: fault.Unavailable, 500: fault.Unavailable, 503: fault.Unavailable, 529: fault.Unavailable,
	}
	bodies := []string{
		`{"error":{"message":"no","type":"server_error"}}`,
		`{"error":{"message":"no","type":"api_error","code":"internal_server_error"}}`,
		`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`,
		`{"error":{"message":"no","code":"service_unavailable"}}`,
		`{"error":{"message":"no","type":"server_error","code":401}}`,
	}
	for status, want := range statuses {
		for _, body := range bodies {
			e := endpoint().StatusError(status, nil, []byte(body))
			if kind := fault.KindOf(e); kind != want || e.Retryable != (want == fault.Unavailable) {
				t.Errorf("HTTP %d %s: kind %s, retryable %v, want %s", status, body, kind, e.Retryable, want)
			}
		}
		if want == fault.Unavailable {
			continue
		}
		for _, body := range []string{
			`{"error":{"type":"rate_limit_error","message":"x"}}`, `{"error":{"code":"resource_exhausted"}}`, `{"error":{"type":"timeout_error"}}`,
			`{"error":{"message":"rate limit"}}`, `{"error":"The service is temporarily unavailable"}`, `overloaded`, ``,
		} {
			e := endpoint().StatusError(status, nil, []byte(body))
			if kind := fault.KindOf(e); kind != want || e.Retryable {
				t.Errorf("HTTP %d %s: kind %s, retryable %v, want %s", status, body, kind, e.Retryable, want)
			}
		}
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		header, value string
		low, high     time.Duration
	}{
		"seconds":     {"Retry-After", "7", 7 * time.Second, 7 * time.Second},
		"fraction":    {"Retry-After", " 0.5 ", 500 * time.Millisecond, 500 * time.Millisecond},
		"ms":          {"Retry-After-Ms", "1200.5", 1200 * time.Millisecond, 1201 * time.Millisecond},
		"date":        {"Retry-After", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat), 30 * time.Minute, time.Hour},
		"past date":   {"Retry-After", "Sun, 06 Nov 1994 08:49:37 GMT", 0, 0},
		"negative":    {"Retry-After", "-3", 0, 0},
		"huge":        {"Retry-After", "1e300", 24 * time.Hour, 24 * time.Hour},
		"not numbers": {"Retry-After", "NaN", 0, 0},
		"nonsense":    {"Retry-After", "soon", 0, 0},
	} {
		h := http.Header{}
		h.Set(tt.header, tt.value)
		if got := endpoint().StatusError(429, h, nil).RetryAfter; got < tt.low || got > tt.high {
			t.Errorf("%s: %v, want %v to %v", name, got, tt.low, tt.high)
		}
	}
	h := http.Header{"X-Should-Retry": {"false"}}
	if endpoint().StatusError(500, h, nil).Retryable {
		t.Error("x-should-retry: false is ignored")
	}
}

func TestWebPage(t *testing.T) {
	t.Parallel()
	h := http.Header{"Content-Type": {"text/html; charset=utf-8"}}
	e := endpoint().StatusError(502, h, []byte("<html><head><title>502 Bad\n Gateway</title></head><body>…</body></html>"))
	if want := `p p/m (HTTP 502): https://host.example/v1 answered with a web page instead of an API answer ("502 Bad Gateway")`; e.Error() != want {
		t.Errorf("error  %s\nwant   %s", e, want)
	}
	if e := endpoint().StatusError(403, nil, []byte("  <!DOCTYPE html><title>Sign in</title>")); fault.KindOf(e) != fault.Auth || !strings.Contains(fault.HintOf(e.Unwrap()), "--base-url") {
		t.Errorf("error %v", e)
	}
}

func FuzzStatusError(f *testing.F) {
	f.Add(500, []byte(`{"error":{"message":"x","code":1e9}}`), "text/html")
	f.Add(0, []byte(`[[]]`), "")
	f.Add(429, []byte("\xff<html>"), "application/json")
	f.Fuzz(func(t *testing.T, status int, body []byte, kind string) {
		e := endpoint().StatusError(status, http.Header{"Content-Type": {kind}}, body)
		if fault.KindOf(e) == "" || len(e.Error()) > 2_000 || strings.ContainsAny(e.Error(), "\n\r") {
			t.Errorf("error %q", e.Error())
		}
	})
}

// TestShortSecrets wants words left whole that contain a short key.
func TestShortSecrets(t *testing.T) {
	t.Parallel()
	const message = "exceeded: x is no key; max_x, axb and Éx stay, (x) goes"
	e := exchange.New("p", llm.Config{Model: "p/m", APIKey: "x", BaseURL: "http://127.0.0.1/v1"}, "")
	got := e.StatusError(http.StatusBadRequest, nil, []byte(`{"error":{"message":"`+message+`"}}`)).Error()
	const want = "exceeded: [redacted] is no key; max_x, axb and Éx stay, ([redacted]) goes"
	if !strings.Contains(got, want) {
		t.Errorf("shown as %q, want %q", got, want)
	}
	long := exchange.New("p", llm.Config{Model: "p/m", APIKey: "0123456789ab", BaseURL: "http://127.0.0.1/v1"}, "")
	got = long.StatusError(http.StatusBadRequest, nil, []byte(`{"error":{"message":"key0123456789abc"}}`)).Error()
	if strings.Contains(got, "0123456789ab") {
		t.Errorf("a long key is shown in %q", got)
	}
}
