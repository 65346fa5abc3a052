package bedrock

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
)

// codes map Amazon's exceptions to codes of package exchange. Other exceptions
// are classified by status or message. See
// https://docs.aws.amazon.com/bedrock/latest/APIReference/CommonErrors.html and
// the errors of Converse.
var codes = map[string]string{
	"throttling":                 "rate_limit_reached_error",
	"toomanyrequests":            "rate_limit_reached_error",
	"servicequotaexceeded":       "usage_limit_reached",
	"accessdenied":               "authentication_error",
	"unrecognizedclient":         "authentication_error",
	"expiredtoken":               "authentication_error",
	"invalidclienttokenid":       "authentication_error",
	"invalidsignature":           "authentication_error",
	"signaturedoesnotmatch":      "authentication_error",
	"incompletesignature":        "authentication_error",
	"missingauthenticationtoken": "authentication_error",
	"notauthorized":              "authentication_error",
	"optinrequired":              "authentication_error",
	"modeltimeout":               "timeout_error",
	"modelerror":                 "service_unavailable",
	"modelstreamerror":           "service_unavailable",
	"modelnotready":              "service_unavailable",
	"serviceunavailable":         "service_unavailable",
	"internalserver":             "service_unavailable",
	"internalfailure":            "service_unavailable",
	"resourcenotfound":           "not_found_error",
}

// tooLong are words of a ValidationException about the context window, in lower
// case, in addition to the words of package exchange.
var tooLong = []string{"input is too long", "too many input tokens", "input token count", "too many total text bytes", "expected maxlength"}

const accessHint = "check the AWS credentials, the region, and that your account has access to the model"

// statusError classifies an error answer. status is 0 for an exception inside a
// stream.
func (m *Model) statusError(status int, h http.Header, body []byte) *llm.Error {
	if !gjson.ValidBytes(body) {
		return m.end.StatusError(status, h, body)
	}
	root := gjson.ParseBytes(body)
	name := h.Get("X-Amzn-Errortype")
	for _, key := range []string{"__type", "code"} {
		if name == "" {
			name = root.Get(key).String()
		}
	}
	words := root.Get("message").String()
	if words == "" {
		words = root.Get("Message").String()
	}
	return m.exception(name, words, status, h)
}

// exception classifies an exception by its name, then by its message.
func (m *Model) exception(name, words string, status int, h http.Header) *llm.Error {
	name, _, _ = strings.Cut(name, ":") // an address follows
	name = name[strings.LastIndexByte(name, '#')+1:]
	short := strings.ToLower(name)
	for _, end := range []string{"exception", "error"} {
		short = strings.TrimSuffix(short, end)
	}
	if short == "model" || short == "modelstream" { // of ModelErrorException
		short += "error"
	}
	code, lower := codes[short], strings.ToLower(words)
	switch {
	case short == "throttling" && strings.Contains(lower, "per day"):
		code = "usage_limit_reached"
	case short == "validation" || code == "" && status == http.StatusBadRequest:
		for _, w := range tooLong {
			if strings.Contains(lower, w) {
				code = "context_length_exceeded"
			}
		}
		if code == "" && status == 0 {
			status = http.StatusBadRequest
		}
	}
	body, err := json.Marshal(map[string]any{"error": map[string]string{"message": words, "type": code}})
	if err != nil { // strings always encode
		body = nil
	}
	shown := status
	if short == "throttling" && status == http.StatusBadRequest {
		status = http.StatusTooManyRequests // CommonErrors: throttling is also sent with 400
	}
	e := m.end.StatusError(status, h, body)
	e.Status = cmp.Or(shown, e.Status)
	e.Code = cmp.Or(name, e.Code)
	if fault.KindOf(e) == fault.Auth {
		e = e.Hint(accessHint)
	}
	return e
}
