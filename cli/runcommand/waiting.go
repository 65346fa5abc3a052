package runcommand

import (
	"fmt"
	"time"
)

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
