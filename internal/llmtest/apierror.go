package llmtest

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// apiError is an error answer of the provider: a fault of the script, or a
// refusal of a request that a real provider would refuse.
type apiError struct {
	kind    FaultKind
	status  int    // 0: the provider's usual one
	message string // "": the provider's usual one
	param   string // OpenAI only
	code    string // OpenAI only, "": the usual one
	own     bool   // an error of the test, not of the provider: no retry
	wait    time.Duration
	waitAs  RetryAs
	input   int // tokens, for the message about the context window
}

func (e *apiError) Error() string { return e.message }

// faultError returns the error answer of a fault.
func faultError(f *Fault, req *Request) *apiError {
	e := &apiError{kind: f.Kind, status: f.Status, message: f.Message, wait: f.RetryAfter, waitAs: f.RetryAs, input: req.inputTokens}
	if e.kind == RateLimit && e.wait == 0 {
		e.wait = time.Second
	}
	return e
}

// headers sets the headers of the error.
func (e *apiError) headers(h http.Header) {
	if e.own {
		h.Set("X-Should-Retry", "false")
	}
	if e.wait <= 0 {
		return
	}
	seconds := strconv.FormatInt(int64((e.wait+time.Second-1)/time.Second), 10)
	switch e.waitAs {
	case RetryDate:
		// Dates have whole seconds: round up, to never request a shorter wait.
		h.Set("Retry-After", time.Now().Add(e.wait+time.Second-1).UTC().Format(http.TimeFormat))
	case RetryMillis:
		h.Set("Retry-After-Ms", strconv.FormatInt(e.wait.Milliseconds(), 10))
		h.Set("Retry-After", seconds)
	default:
		h.Set("Retry-After", seconds)
	}
}

func (e *apiError) say(usual string) string {
	if e.message != "" {
		return e.message
	}
	return usual
}

func (e *apiError) statusOr(usual int) int {
	if e.status != 0 {
		return e.status
	}
	return usual
}

// openAI returns status, type, code and message, after
// https://platform.openai.com/docs/guides/error-codes.
func (e *apiError) openAI() (status int, kind, code, message string) {
	const limit = 128_000
	status, kind = http.StatusBadRequest, "invalid_request_error"
	switch e.kind {
	case RateLimit:
		status, kind, code = http.StatusTooManyRequests, "requests", "rate_limit_exceeded"
		message = fmt.Sprintf("Rate limit reached for requests. Please try again in %s.", e.wait)
	case Quota:
		status, kind, code = http.StatusTooManyRequests, "insufficient_quota", "insufficient_quota"
		message = "You exceeded your current quota, please check your plan and billing details."
	case Auth:
		status, code, message = http.StatusUnauthorized, "invalid_api_key", "Incorrect API key provided."
	case ContextWindow:
		code = "context_length_exceeded"
		message = fmt.Sprintf("This model's maximum context length is %d tokens. However, your messages resulted in %d tokens. Please reduce the length of the messages.", limit, limit+e.input)
	case ContentFilter:
		code = "content_filter"
		message = "The response was filtered due to the prompt triggering the content management policy. Please modify your prompt and retry."
	case ServerError:
		status, kind = http.StatusInternalServerError, "server_error"
		message = "The server had an error while processing your request. Sorry about that!"
	case modelNotFound:
		status, code = http.StatusNotFound, "model_not_found"
	default:
		message = "Invalid request."
	}
	code = cmp.Or(e.code, code)
	return e.statusOr(status), kind, code, e.say(message)
}

// modelNotFound is the error of a model that is not in the script.
const modelNotFound FaultKind = "model_not_found"

// anthropic returns status, type and message, after
// https://docs.anthropic.com/en/api/errors.
func (e *apiError) anthropic() (status int, kind, message string) {
	const limit = 200_000
	status, kind = http.StatusBadRequest, "invalid_request_error"
	switch e.kind {
	case RateLimit:
		status, kind = http.StatusTooManyRequests, "rate_limit_error"
		message = "This request would exceed your organization's rate limit. Please try again later."
	case Quota:
		message = "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."
	case Auth:
		status, kind, message = http.StatusUnauthorized, "authentication_error", "invalid x-api-key"
	case ContextWindow:
		message = fmt.Sprintf("prompt is too long: %d tokens > %d maximum", limit+e.input, limit)
	case ContentFilter:
		message = "Output blocked by content filtering policy"
	case ServerError:
		status, kind, message = http.StatusInternalServerError, "api_error", "Internal server error"
		if e.status == 529 || e.status == http.StatusServiceUnavailable {
			kind, message = "overloaded_error", "Overloaded"
		}
	case modelNotFound:
		status, kind = http.StatusNotFound, "not_found_error"
	default:
		message = "Invalid request."
	}
	return e.statusOr(status), kind, e.say(message)
}

// gemini returns HTTP status, status word, message and details, after
// https://ai.google.dev/gemini-api/docs/troubleshooting.
func (e *apiError) gemini() (status int, word, message, details string) {
	const limit = 1_048_576
	status, word, details = http.StatusBadRequest, "INVALID_ARGUMENT", "[]"
	switch e.kind {
	case RateLimit, Quota:
		status, word = http.StatusTooManyRequests, "RESOURCE_EXHAUSTED"
		message = "You exceeded your current quota, please check your plan and billing details."
		details = `[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel"}]}]`
		if e.kind == RateLimit {
			message = "Resource has been exhausted (e.g. check quota)."
			details = fmt.Sprintf(`[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"%gs"}]`, e.wait.Seconds())
		}
	case Auth:
		message = "API key not valid. Please pass a valid API key."
		details = `[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID","domain":"googleapis.com"}]`
	case ContextWindow:
		message = fmt.Sprintf("The input token count (%d) exceeds the maximum number of tokens allowed (%d).", limit+e.input, limit)
	case ServerError:
		status, word = http.StatusInternalServerError, "INTERNAL"
		message = "An internal error has occurred. Please retry or report in https://developers.generativeai.google/guide/troubleshooting"
		if e.status == http.StatusServiceUnavailable || e.status == 529 {
			word, message = "UNAVAILABLE", "The model is overloaded. Please try again later."
		}
	case modelNotFound:
		status, word = http.StatusNotFound, "NOT_FOUND"
	default:
		message = "Request contains an invalid argument."
	}
	return e.statusOr(status), word, e.say(message), details
}
