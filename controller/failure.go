package controller

import (
	"context"
	"errors"

	"github.com/deft-dev/deft/agent"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/state"
)

// fail ends a run on an error: the user gets an event to read, then the
// status. If the process is to end, or the stream itself failed, there is
// nothing to record and the error is returned.
func (c *Controller) fail(ctx context.Context, r *run, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if how := r.stopped(); how != goOn && fault.KindOf(err) == fault.Canceled {
		return c.stopAs(ctx, how)
	}
	c.cfg.Log.Warn("run failed", "conversation", c.cfg.ID, "kind", fault.KindOf(err), "err", err)
	if aerr := c.append(ctx, errorEvent(err), status(state.Errored)); aerr != nil {
		if fault.Is(err, fault.Full) && fault.Is(aerr, fault.Full) {
			return err // the same once more
		}
		return errors.Join(err, aerr)
	}
	return nil
}

// errIterations marks the end of a run at its iteration limit.
var errIterations = errors.New("too many iterations")

// class is how an error is reported to clients (docs/openhands/sdk-wire.md section
// 7).
type class struct {
	code, kind, action string
	retryable          bool
}

var classes = map[fault.Kind]class{
	fault.Auth:        {"LLMAuthenticationError", "auth", "settings", false},
	fault.RateLimit:   {"LLMRateLimitError", "rate_limit", "retry", true},
	fault.Quota:       {"LLMQuotaError", "quota", "settings", false},
	fault.Context:     {"LLMContextWindowExceedError", "agent_action", "retry", true},
	fault.Content:     {"LLMContentPolicyViolationError", "agent_action", "none", false},
	fault.Invalid:     {"LLMBadRequestError", "config", "settings", false},
	fault.NotFound:    {"LLMBadRequestError", "config", "settings", false},
	fault.Unsupported: {"LLMBadRequestError", "config", "settings", false},
	fault.Unavailable: {"LLMServiceUnavailableError", "transient", "retry", true},
	fault.Timeout:     {"LLMTimeoutError", "transient", "retry", true},
	fault.Full:        {"StorageFull", "config", "none", true},
	fault.Corrupt:     {"StorageCorrupt", "internal", "none", false},
}

// runtimeKinds are the kinds of error of an unavailable runtime; from an LLM
// they mean something else.
var runtimeKinds = map[fault.Kind]bool{
	fault.Unavailable: true, fault.Unsupported: true, fault.Denied: true, fault.Timeout: true, fault.Conflict: true,
}

// ErrorCode returns the code of the ConversationErrorEvent for an error.
func ErrorCode(err error) string { return errorEvent(err).Code }

// errorEvent tells the user why a run ended. Its detail is the error and, if
// there is one, the next step.
func errorEvent(err error) *event.ConversationErrorEvent {
	kind := fault.KindOf(err)
	var fromLLM *llm.Error
	var ofProgram *agent.Failure
	cl, known := classes[kind]
	switch {
	case errors.As(err, &ofProgram):
		cl = class{ofProgram.Code, ofProgram.Kind, ofProgram.Action, ofProgram.Retryable}
	case errors.Is(err, llm.ErrNotSetUp):
		cl = class{"ModelNotSetUp", "config", "settings", false}
	case errors.Is(err, errIterations):
		cl = class{"MaxIterationsReached", "agent_action", "retry", true}
	case kind == fault.Limit:
		cl = class{"MaxBudgetReached", "quota", "settings", false}
	case !errors.As(err, &fromLLM) && runtimeKinds[kind]:
		cl = class{"RuntimeUnavailable", "transient", "retry", true}
	case !known:
		cl = class{"InternalError", "internal", "none", false}
	}
	detail := err.Error()
	if hint := fault.HintOf(err); hint != "" {
		detail += "\n" + hint
	}
	return &event.ConversationErrorEvent{
		Base: event.NewBase(event.SourceEnvironment), Code: cl.code, Detail: detail,
		Classification: &event.ErrorClassification{Kind: cl.kind, Retryable: cl.retryable, UserAction: cl.action},
	}
}
