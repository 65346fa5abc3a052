package exchange

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
)

// StatusError classifies an error answer. status is 0 for an error event inside
// a stream, with the event's data as body.
func (e *Endpoint) StatusError(status int, h http.Header, body []byte) *llm.Error {
	if isHTML(h, body) {
		return e.htmlError(status, h, body)
	}
	d := readDetails(body)
	httpStatus := status
	if status < 300 {
		status = d.status
	}
	kind := d.kind(httpStatus, status)
	f := e.fail(kind, e.sentence(d.message, status), nil)
	f.Status, f.Code = status, d.code
	f.Code = cmp.Or(f.Code, d.typ)
	f.Retryable = temporary(kind)
	f.RetryAfter = retryAfter(h, time.Now())
	if h.Get("X-Should-Retry") == "false" {
		f.Retryable = false
	}
	if hint := hints[kind]; hint != "" {
		f = f.Hint(hint)
	}
	if status == http.StatusNotFound || status >= 300 && status < 400 {
		f = f.Hint("check the model's name and the address (--base-url)")
	}
	return f
}

// hints suggest the next step to the user.
var hints = map[fault.Kind]string{
	fault.Auth:    "check the API key and its permissions",
	fault.Quota:   "check the provider's billing page, or choose another model",
	fault.Context: "shorten the conversation, or choose a model with a larger context window",
}

// sentence makes one short line of the provider's message, without secrets.
func (e *Endpoint) sentence(msg string, status int) string {
	msg = strings.Join(strings.Fields(msg), " ")
	for _, s := range e.secrets {
		msg = redacted(msg, s.Reveal())
	}
	if msg == "" {
		if status == 0 {
			return "the provider reported an error without details"
		}
		return "the provider answered " + strings.ToLower(http.StatusText(status))
	}
	const longest = 500
	if len(msg) > longest {
		msg = strings.ToValidUTF8(msg[:longest], "") + "…"
	}
	return msg
}

// longSecret is the length from which a secret is no part of a word by chance.
const longSecret = 12

// redacted replaces a secret in a message. A short one, such as the "x" that
// servers without keys are given, is replaced only where it is a whole word.
func redacted(msg, secret string) string {
	if secret == "" {
		return msg
	}
	if len(secret) >= longSecret {
		return strings.ReplaceAll(msg, secret, "[redacted]")
	}
	var b strings.Builder
	for done := 0; ; {
		i := strings.Index(msg[done:], secret)
		if i < 0 {
			b.WriteString(msg[done:])
			return b.String()
		}
		start, end := done+i, done+i+len(secret)
		b.WriteString(msg[done:start])
		before, _ := utf8.DecodeLastRuneInString(msg[:start])
		after, _ := utf8.DecodeRuneInString(msg[end:])
		if inWord(before) || inWord(after) {
			b.WriteString(secret)
		} else {
			b.WriteString("[redacted]")
		}
		done = end
	}
}

func inWord(r rune) bool {
	return r == '_' || r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

// details is an error answer of any provider.
type details struct {
	message, typ, code string
	status             int // from the body
}

// readDetails reads the error formats in use: {"error":{…}} of OpenAI,
// Anthropic and compatible servers, {"error":"…"} of Ollama, {"detail":…} of
// FastAPI servers, and the bare object of older vLLM servers.
func readDetails(body []byte) details {
	root := gjson.ParseBytes(body)
	if !gjson.ValidBytes(body) {
		return details{message: string(bytes.ToValidUTF8(body, nil))}
	}
	if root.IsArray() { // Gemini's compatible endpoint wraps it
		root = root.Get("0")
	}
	inner := root.Get("error")
	switch {
	case inner.Type == gjson.String:
		return details{message: inner.Str, code: root.Get("code").String()}
	case !inner.IsObject():
		inner = root
	}
	d := details{message: inner.Get("message").String(), typ: inner.Get("type").String()}
	if d.message == "" {
		d.message = inner.Get("detail").String()
	}
	code := inner.Get("code")
	if n, err := strconv.Atoi(code.String()); err == nil {
		d.status = n
	} else {
		d.code = code.String()
	}
	if d.typ == "" {
		d.typ = inner.Get("status").String()
	}
	if !inner.Exists() && d.message == "" {
		d.message = string(body)
	}
	// OpenRouter includes the original provider's message as text.
	if raw := inner.Get("metadata.raw"); raw.Type == gjson.String && raw.Str != "" {
		d.message += ": " + raw.Str
	}
	return d
}

func isHTML(h http.Header, body []byte) bool {
	if strings.HasPrefix(strings.ToLower(h.Get("Content-Type")), "text/html") {
		return true
	}
	start := bytes.ToLower(bytes.TrimSpace(body[:min(len(body), 256)]))
	return bytes.HasPrefix(start, []byte("<!doctype")) || bytes.HasPrefix(start, []byte("<html"))
}

// htmlError is the error of a web page in place of an API answer: an error page
// of a proxy or gateway, a login page, or a wrong address.
func (e *Endpoint) htmlError(status int, h http.Header, body []byte) *llm.Error {
	what := "a web page instead of an API answer"
	if title := between(string(body), "<title>", "</title>"); title != "" {
		what += fmt.Sprintf(" (%q)", title)
	}
	kind := fault.Invalid
	switch {
	case status == http.StatusTooManyRequests:
		kind = fault.RateLimit
	case status == http.StatusGatewayTimeout || status == http.StatusRequestTimeout:
		kind = fault.Timeout
	case status >= 500:
		kind = fault.Unavailable
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		kind = fault.Auth
	}
	f := e.fail(kind, e.shownURL()+" answered with "+what, nil)
	f.Status, f.RetryAfter = status, retryAfter(h, time.Now())
	f.Retryable = temporary(kind)
	if kind == fault.Invalid || kind == fault.Auth {
		f = f.Hint("check the address (--base-url): it often has to end in /v1")
	}
	return f
}

func between(s, open, end string) string {
	_, rest, ok := strings.Cut(s, open)
	if !ok {
		return ""
	}
	title, _, ok := strings.Cut(rest, end)
	if !ok || len(title) > 200 {
		return ""
	}
	return strings.Join(strings.Fields(title), " ")
}

// retryAfter reads retry-after-ms and Retry-After (seconds or a date, RFC 9110
// section 10.2.3).
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		return bounded(ms * float64(time.Millisecond))
	}
	v := strings.TrimSpace(h.Get("Retry-After"))
	if s, err := strconv.ParseFloat(v, 64); err == nil {
		return bounded(s * float64(time.Second))
	}
	if at, err := http.ParseTime(v); err == nil {
		return bounded(float64(at.Sub(now)))
	}
	return 0
}

// bounded limits an invalid or hostile number to 0 to 24 hours.
func bounded(ns float64) time.Duration {
	if math.IsNaN(ns) || ns < 0 {
		return 0
	}
	return time.Duration(math.Min(ns, float64(24*time.Hour)))
}
