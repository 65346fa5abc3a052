package gemini

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/deft-dev/deft/llm"
)

// longestDelay is the longest wait that a server may request.
const longestDelay = 24 * time.Hour

// statusError classifies an error answer (google.rpc.Status with its details,
// https://cloud.google.com/apis/design/errors). status is 0 for an error inside
// a stream.
//
// RESOURCE_EXHAUSTED means both a rate limit and an exhausted quota, with the
// same message. The details distinguish them: a delay or a quota per minute is
// temporary; a quota per day without a delay is not.
func (m *Model) statusError(status int, h http.Header, body []byte) *llm.Error {
	root := gjson.ParseBytes(body)
	if !gjson.ValidBytes(body) {
		return m.end.StatusError(status, h, body)
	}
	if root.IsArray() { // streams without server-sent events wrap it
		root = root.Get("0")
	}
	inner := root.Get("error")
	word := inner.Get("status").String()
	d := readDetails(inner.Get("details"))
	code := d.code
	if code == "" && word == "RESOURCE_EXHAUSTED" {
		code = "insufficient_quota"
		if d.temporary() || !d.quota && !strings.Contains(inner.Get("message").String(), "billing details") {
			code = "rate_limit_reached_error"
		}
	}
	if code != "" {
		body = rewritten(inner, code)
	}
	e := m.end.StatusError(status, h, body)
	e.Code = cmp.Or(word, e.Code)
	if d.delay > e.RetryAfter && e.Retryable {
		e.RetryAfter = d.delay
	}
	return e
}

// rewritten is the error with a code of package exchange.
func rewritten(inner gjson.Result, code string) []byte {
	b, err := json.Marshal(map[string]any{"error": map[string]any{
		"message": inner.Get("message").String(), "type": code, "code": inner.Get("code").Int(),
	}})
	if err != nil { // strings and a number always encode
		return nil
	}
	return b
}

// details has the relevant details of a google.rpc.Status.
type details struct {
	delay  time.Duration
	code   string
	quota  bool
	perDay bool
}

func (d details) temporary() bool { return d.delay > 0 && !d.perDay || d.quota && !d.perDay }

func readDetails(list gjson.Result) details {
	var d details
	for _, item := range list.Array() {
		_, kind, _ := strings.Cut(item.Get("@type").String(), "google.rpc.")
		switch kind {
		case "RetryInfo":
			if t, err := time.ParseDuration(item.Get("retryDelay").String()); err == nil && t > 0 {
				d.delay = min(t, longestDelay)
			}
		case "QuotaFailure":
			d.quota = true
			for _, v := range item.Get("violations").Array() {
				d.perDay = d.perDay || strings.Contains(v.Get("quotaId").String(), "PerDay")
			}
		case "ErrorInfo":
			switch item.Get("reason").String() {
			case "API_KEY_INVALID", "API_KEY_SERVICE_BLOCKED", "ACCESS_TOKEN_EXPIRED", "CREDENTIALS_MISSING", "IAM_PERMISSION_DENIED":
				d.code = "authentication_error"
			case "BILLING_DISABLED":
				d.code = "billing_not_active"
			}
		}
	}
	return d
}
