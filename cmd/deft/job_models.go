package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/deft-dev/deft/agent"
	"github.com/deft-dev/deft/controller"
	"github.com/deft-dev/deft/internal/console"
	"github.com/deft-dev/deft/llm/broker"
)

// retried shows and records a call that is made again.
func (j *job) retried(r broker.Retry) {
	j.view.retry(r)
	j.recordRetry(retryOf(r), r.Err)
}

// retryOf is a retry as it is recorded.
func retryOf(r broker.Retry) controller.Retry {
	return controller.Retry{
		UsageID: r.Service, Model: r.Info.Name, Attempt: r.Attempt, Attempts: r.Of, Wait: r.Wait.Seconds(), Void: r.Void,
	}
}

// switched shows and records a call that another model takes over.
func (j *job) switched(s broker.Switched) {
	j.view.switched(s)
	j.recordRetry(controller.Retry{UsageID: s.Service, Model: s.From.Name, Next: s.To.Name, Void: s.Void}, s.Err)
}

// recordRetry makes a retry an event. What was done to the call stands if that
// fails; the next append of the run will fail in the same way, and end it.
func (j *job) recordRetry(r controller.Retry, err error) {
	if rerr := j.session.RecordRetry(context.Background(), r, err); rerr != nil {
		j.view.warn("the retry could not be recorded: " + oneLine(rerr.Error()))
	}
}

// retryText tells of a recorded retry in a line.
func retryText(value json.RawMessage) string {
	var r controller.Retry
	if err := json.Unmarshal(value, &r); err != nil {
		return "a call of the model was made again"
	}
	if r.Next != "" {
		return fmt.Sprintf("%s did not answer (%s); asked %s", r.Model, r.Detail, r.Next)
	}
	return fmt.Sprintf("%s did not answer (%s); tried again after %.0f s", r.Model, r.Detail, r.Wait)
}

// rename stores which models a resumed conversation has from now on.
func (j *job) rename(ctx context.Context, setup runSetup) error {
	if j.fresh || j.model == "" {
		return nil
	}
	extra, err := setup.encode()
	if err != nil {
		return fmt.Errorf("describe the conversation: %w", err)
	}
	if !bytes.Equal(extra, j.meta.Extra) {
		j.meta.Extra = extra
		err = j.store.SetMeta(ctx, j.id, j.meta)
	}
	changed, rerr := j.session.RecordModel(ctx, j.model, agent.UsageAgent)
	if err = errors.Join(err, rerr); err != nil {
		return fmt.Errorf("store the choice of a model: %w", err)
	}
	if changed {
		j.view.note("the model is " + console.Line(j.model) + " from now on")
	}
	return nil
}

// merged are the entries of both, those of over first.
func merged(base, over map[string]string) map[string]string {
	if len(base) == 0 {
		return over
	}
	out := maps.Clone(base)
	maps.Copy(out, over)
	return out
}
