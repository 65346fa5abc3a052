package job

import (
	"github.com/deft-dev/deft/event"
)

// subject names the jobs of a kind about a conversation.
type subject struct {
	kind  string
	about event.ConversationID
}

// wake is a subject that is being woken.
type wake struct{ again bool }

// mostNone bounds the subjects that are known to have no job.
const mostNone = 20_000

// Wake runs the jobs of a kind about a conversation once more in the background: those that
// are parked, and those at work after their present run. It waits for nothing.
func (e *Engine) Wake(kind string, about event.ConversationID) {
	s := subject{kind, about}
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, none := e.none[s]; none || e.closed {
		return
	}
	if w := e.wakes[s]; w != nil {
		w.again = true
		return
	}
	w := &wake{again: true}
	e.wakes[s] = w
	e.others.Go(func() { e.wake(s, w) })
}

// Expect forgets that a subject has no jobs: another server may have added one.
func (e *Engine) Expect(kind string, about event.ConversationID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.none, subject{kind, about})
}

// wake wakes a subject until nobody asks for it any more.
func (e *Engine) wake(s subject, w *wake) {
	for failures := 0; ; {
		e.mu.Lock()
		if !w.again || e.closed {
			delete(e.wakes, s)
			e.mu.Unlock()
			return
		}
		w.again = false
		e.mu.Unlock()
		err := e.wakeOnce(s)
		if err == nil {
			failures = 0
			continue
		}
		if failures++; !e.pause(e.ctx, failures, "wake jobs", err) {
			continue // closed
		}
		e.mu.Lock()
		w.again = true
		e.mu.Unlock()
	}
}

func (e *Engine) wakeOnce(s subject) error {
	t, err := e.tenure(e.ctx)
	if err != nil {
		return err
	}
	ids, found, err := e.o.Store.WakeJobs(e.ctx, s.kind, s.about, t.id)
	if err != nil {
		return err
	}
	for _, id := range ids {
		e.begin(t, &active{id: id})
	}
	if !found {
		e.mu.Lock()
		defer e.mu.Unlock()
		if len(e.none) >= mostNone {
			clear(e.none)
		}
		e.none[s] = struct{}{}
	}
	return nil
}
