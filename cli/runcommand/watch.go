package runcommand

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

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
	m.v.asking(1)
	defer m.v.asking(-1)
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
	switch {
	case r.Change != "":
		return fmt.Sprintf("%s refused the request (%s); asked again %s", r.Model, r.Detail, r.Change)
	case r.Next != "":
		return fmt.Sprintf("%s did not answer (%s); asked %s", r.Model, r.Detail, r.Next)
	}
	return fmt.Sprintf("%s did not answer (%s); tried again after %.0f s", r.Model, r.Detail, r.Wait)
}

// Where there is no status line, a model that is silent is reported after
// firstSilence, and then at intervals that double.
const firstSilence = 30 * time.Second

// waiting shows for how long a model has said nothing. It is guarded by View.mu.
type waiting struct {
	since time.Time
	timer *time.Timer
	next  time.Duration // of the next report
}

// startWaiting begins to show that the model is waited for.
func (v *View) startWaiting() {
	if v.printer == nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.stopTimer()
	w := &waiting{since: time.Now(), next: firstSilence}
	v.waiting = w
	w.timer = time.AfterFunc(v.waitStep(w), func() { v.reportSilence(w) })
}

// asking counts the calls of models that are under way.
func (v *View) asking(n int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.underway += n
}

// asksModel reports whether a call of a model is under way.
func (v *View) asksModel() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.underway > 0
}

// heard notes that the model has said something, or that the call has ended.
func (v *View) heard() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.stopTimer()
}

func (v *View) stopTimer() {
	if v.waiting != nil {
		v.waiting.timer.Stop()
		v.waiting = nil
	}
}

// waitStep is the time until the next report.
func (v *View) waitStep(w *waiting) time.Duration {
	if v.screen.status {
		return time.Second
	}
	return w.next - time.Since(w.since)
}

// reportSilence shows for how long the model has been silent.
func (v *View) reportSilence(w *waiting) {
	v.mu.Lock()
	defer v.mu.Unlock() // so that nothing is shown after heard
	if v.waiting != w {
		return
	}
	silent := time.Since(w.since).Round(time.Second)
	note := ""
	if !v.screen.status {
		note = fmt.Sprintf("… the model has not answered for %s (Ctrl-C pauses)", silent)
		w.next *= 2
	}
	w.timer = time.AfterFunc(v.waitStep(w), func() { v.reportSilence(w) })
	if note != "" {
		v.note(note)
		return
	}
	v.screen.show(fmt.Sprintf("thinking… %s", silent))
}
