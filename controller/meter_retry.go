package controller

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/state"
)

// Keys of the state updates that tell of a conversation's models. Clients of
// OpenHands keep keys that they do not know, and make nothing of them.
const (
	KeyRetry = "llm_retry" // its value is a Retry
	KeyAgent = "agent"     // the agent's settings, its model among them
)

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
	// Code is that which a ConversationErrorEvent for the error would have.
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

// RecordModel appends which model the agent has from now on, if it is another
// than the conversation's events say. It reports whether it is.
func (c *Controller) RecordModel(ctx context.Context, model, usageID string) (changed bool, err error) {
	err = c.appendWith(ctx, func(now *state.State) ([]event.Event, error) {
		settings := map[string]any{"kind": "Agent"}
		var old struct {
			LLM struct {
				Model string `json:"model"`
			} `json:"llm"`
		}
		if raw := now.Fields[KeyAgent]; json.Unmarshal(raw, &old) == nil {
			if old.LLM.Model == model {
				return nil, nil
			}
			if err := json.Unmarshal(raw, &settings); err != nil {
				return nil, fmt.Errorf("read the agent's settings: %w", err)
			}
		}
		if settings == nil { // the event said null
			settings = map[string]any{"kind": "Agent"}
		}
		// An address or a key in the old settings belongs to the old model.
		settings["llm"] = map[string]string{"model": model, "usage_id": usageID}
		changed = true
		return []event.Event{update(KeyAgent, settings)}, nil
	})
	return changed && err == nil, err
}
