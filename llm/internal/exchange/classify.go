package exchange

import (
	"net/http"
	"strings"

	"github.com/deft-dev/deft/fault"
)

// byCode maps the codes and types of providers' errors. They refine the HTTP
// status: several providers use 400 or 429 for a used-up allowance or a prompt
// that is too long. They never make an error temporary that the status calls
// final (see [final]).
var byCode = map[string]fault.Kind{
	"context_length_exceeded":              fault.Context,
	"exceed_context_size_error":            fault.Context, // llama.cpp
	"model_max_prompt_tokens_exceeded":     fault.Context,
	"request_too_large":                    fault.Context, // Anthropic, 413
	"insufficient_quota":                   fault.Quota,
	"usage_limit_reached":                  fault.Quota,
	"billing_hard_limit_reached":           fault.Quota,
	"billing_not_active":                   fault.Quota,
	"billing_error":                        fault.Quota,
	"budget_exceeded":                      fault.Quota, // LiteLLM proxy
	"insufficient_balance":                 fault.Quota,
	"exceeded_current_quota_error":         fault.Quota, // Moonshot
	"invalid_api_key":                      fault.Auth,
	"invalid_authentication_error":         fault.Auth,
	"authentication_error":                 fault.Auth,
	"permission_error":                     fault.Auth,
	"permission_denied":                    fault.Auth,
	"auth_error":                           fault.Auth,
	"unauthenticated":                      fault.Auth,
	"rate_limit_error":                     fault.RateLimit,
	"rate_limit_exceeded":                  fault.RateLimit,
	"rate_limit_reached_error":             fault.RateLimit,
	"resource_exhausted":                   fault.RateLimit,
	"throttling_error":                     fault.RateLimit,
	"overloaded_error":                     fault.Unavailable,
	"engine_overloaded_error":              fault.Unavailable,
	"service_unavailable":                  fault.Unavailable,
	"api_error":                            fault.Unavailable,
	"server_error":                         fault.Unavailable,
	"internal_server_error":                fault.Unavailable,
	"internalservererror":                  fault.Unavailable,
	"timeout_error":                        fault.Timeout,
	"content_filter":                       fault.Content,
	"content_policy_violation":             fault.Content,
	"invalid_prompt":                       fault.Content, // Responses: refused by the usage policy
	"image_content_policy_violation":       fault.Content,
	"responsibleaipolicyviolation":         fault.Content,
	"data_inspection_failed":               fault.Content, // Alibaba
	"model_not_found":                      fault.Invalid,
	"not_found_error":                      fault.Invalid,
	"unsupported_parameter":                fault.Invalid,
	"unsupported_value":                    fault.Invalid,
	"invalid_function_parameters":          fault.Invalid,
	"invalid_image_url":                    fault.Invalid,
	"image_parse_error":                    fault.Invalid,
	"unsupported_country_region_territory": fault.Auth,
}

// byStatus maps HTTP statuses.
var byStatus = map[int]fault.Kind{
	http.StatusUnauthorized:          fault.Auth,
	http.StatusForbidden:             fault.Auth,
	http.StatusPaymentRequired:       fault.Quota,
	http.StatusRequestTimeout:        fault.Timeout,
	http.StatusGatewayTimeout:        fault.Timeout,
	http.StatusConflict:              fault.Unavailable,
	http.StatusTooManyRequests:       fault.RateLimit,
	http.StatusRequestEntityTooLarge: fault.Context,
	http.StatusNotFound:              fault.Invalid,
	http.StatusMethodNotAllowed:      fault.Invalid,
}

// pattern maps words of a message to a kind.
type pattern struct {
	kind  fault.Kind
	words []string
}

// patterns are tried last, in this order (docs/openhands/sdk-features.md
// section 1, "Error mapping").
var patterns = []pattern{
	{fault.Context, []string{
		"prompt is too long", "context length exceeded", "input exceeds the context window",
		"context window exceeds limit", "please reduce the length of", "exceeds the available context size", "exceeds the context length",
		"exceed context limit", "contextwindowexceedederror", "maximum context length",
		"exceeds the maximum number of tokens", "maximum prompt length", "context_length_exceeded",
	}},
	{fault.Invalid, []string{
		"must be followed by tool messages responding to each", "`tool_use` ids were found without `tool_result`",
		"unexpected `tool_use_id` found in `tool_result`", "each tool_use must have a single result",
		"failed to parse tool call arguments as json", "messages with role 'tool' must be a response to",
	}},
	{fault.Quota, []string{
		"credit balance is too low", "insufficient balance", "insufficient_quota", "usage_limit_reached",
		"budget has been exceeded", "budget exceeded", "exceeded your current quota", "insufficient credits",
	}},
	{fault.Auth, []string{
		"invalid api key", "incorrect api key", "api key not valid", "missing api key", "unauthorized", "invalid authentication", "access denied",
	}},
	{fault.RateLimit, []string{"rate limit", "too many requests"}},
	{fault.Unavailable, []string{"overloaded", "service unavailable", "temporarily unavailable", "internal server error"}},
	{fault.Content, []string{
		"content_policy", "content filtering policy", "output blocked by content filtering",
		"content management policy", "safety system",
	}},
}

// temporary reports a kind of error after which the same request may succeed.
func temporary(k fault.Kind) bool {
	return k == fault.RateLimit || k == fault.Unavailable || k == fault.Timeout
}

// final reports an HTTP status after which the same request fails again: a
// redirect that was not followed, and the client errors (authentication,
// permission, bad request …), except those that
// are defined to be temporary, or used so: 424 by Bedrock for an error of the
// model, 498 by Groq for a lack of capacity. An error event inside a stream has
// no HTTP status.
func final(httpStatus int) bool {
	switch httpStatus {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusFailedDependency, http.StatusTooEarly, http.StatusTooManyRequests, 498:
		return false
	}
	return httpStatus >= 300 && httpStatus < 500
}

// kind classifies an error by code, by status and by words. If httpStatus is
// final, codes and words for temporary errors are ignored. status is httpStatus
// or, inside a stream, the status in the body.
func (d details) kind(httpStatus, status int) fault.Kind {
	possible := func(k fault.Kind) bool { return !final(httpStatus) || !temporary(k) }
	for _, c := range []string{d.code, d.typ} {
		if k, ok := byCode[strings.ToLower(c)]; ok && possible(k) && !d.misused(c, status) {
			return k
		}
	}
	k, ok := byStatus[status]
	// 429 is also used for an exhausted quota.
	if ok && status != http.StatusTooManyRequests {
		return k
	}
	if byWords := d.words(); byWords != "" && possible(byWords) && (k == "" || byWords == fault.Quota) {
		return byWords
	}
	switch {
	case ok:
		return k
	case status >= 500 || status == 0:
		return fault.Unavailable
	}
	return fault.Invalid
}

// misused reports a general code that is less specific than the message: some
// servers use it for every error.
func (d details) misused(code string, status int) bool {
	switch strings.ToLower(code) {
	case "server_error", "api_error", "internal_server_error", "internalservererror", "rate_limit_exceeded", "resource_exhausted", "rate_limit_error":
		w := d.words()
		return w == fault.Quota || w == fault.Context && status != http.StatusTooManyRequests
	}
	return false
}

func (d details) words() fault.Kind {
	text := strings.ToLower(d.message)
	for _, p := range patterns {
		for _, w := range p.words {
			if strings.Contains(text, w) {
				return p.kind
			}
		}
	}
	return ""
}
