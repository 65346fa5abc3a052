package runcommand

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/deft-dev/deft/controller"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/spec"
)

// Watch returns models whose calls and retries the view shows.
func (v *View) Watch(m session.Models) session.Models { return watchedModels{m, v} }

type watchedModels struct {
	session.Models
	v *View
}

// Open implements [session.Models].
func (w watchedModels) Open(l *spec.LLM, o session.ModelOptions) (llm.Model, error) {
	record := o.Retried
	o.Retried = func(r controller.Retry, err error) {
		w.v.retried(r, err)
		if record != nil {
			record(r, err)
		}
	}
	m, err := w.Models.Open(l, o)
	if err != nil {
		return nil, err
	}
	return watchedModel{m, w.v}, nil
}

// watchedModel is a model that the view shows to be thinking.
type watchedModel struct {
	llm.Model
	v *View
}

// Generate implements [llm.Model].
func (m watchedModel) Generate(ctx context.Context, r llm.Request, onDelta func(llm.Delta)) (*llm.Response, error) {
	m.v.thinking(true)
	m.v.startWaiting()
	begun := false
	resp, err := m.Model.Generate(ctx, r, func(d llm.Delta) {
		if !begun {
			begun = true
			m.v.heard()
		}
		onDelta(d)
	})
	m.v.heard()
	m.v.thinking(false)
	m.v.called(err)
	return resp, err
}

// RetryText describes in a line a retry that was recorded with
// [controller.KeyRetry].
func RetryText(value json.RawMessage) string {
	var r controller.Retry
	if err := json.Unmarshal(value, &r); err != nil {
		return "a call of the model was made again"
	}
	if r.Next != "" {
		return fmt.Sprintf("%s did not answer (%s); asked %s", r.Model, r.Detail, r.Next)
	}
	return fmt.Sprintf("%s did not answer (%s); tried again after %.0f s", r.Model, r.Detail, r.Wait)
}
