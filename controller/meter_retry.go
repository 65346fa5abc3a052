package controller

import (
	"cmp"
	"context"

	"github.com/deft-dev/deft/fault"
)

// KeyRetry is the key of state updates with a [Retry]. Clients of OpenHands keep keys
// that they do not know, and make nothing of them.
const KeyRetry = "llm_retry"

// Retry is a call of a model that failed and is made again, or by another
// model. It is recorded when it happens: the wait that follows may take
// minutes.
type Retry struct {
	UsageID  string `json:"usage_id"`
	Model    string `json:"model"`                // that failed
	Next     string `json:"next_model,omitempty"` // that is asked instead; "" for the same again
	Attempt  int    `json:"attempt,omitempty"`    // that failed, from 1
	Attempts int    `json:"attempts,omitempty"`   // in all
	// Wait is how long the next attempt waits, in seconds.
	Wait float64 `json:"wait_seconds"`
	// Change says how the next attempt differs, in words after "asking again"; "" if it does not.
	Change string `json:"change,omitempty"`
	// Code is the code of a ConversationErrorEvent for the error.
	Code   string `json:"code"`
	Detail string `json:"detail"`
	// Void says that the part of the answer shown so far does not count.
	Void bool `json:"void"`
}

// RecordRetry appends a Retry to the conversation, its Code and Detail taken
// from err. It may be called while a step runs, from its own call of the model.
func (c *Controller) RecordRetry(ctx context.Context, r Retry, err error) error {
	r.Code, r.Detail = cmp.Or(classes[fault.KindOf(err)].code, "InternalError"), err.Error()
	return c.append(ctx, update(KeyRetry, r))
}
