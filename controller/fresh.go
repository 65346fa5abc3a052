package controller

import (
	"sync"

	"github.com/deft-dev/deft/event"
)

// fresh are the actions of the last step that were never asked for. A pause can
// come between their being stored and that; no earlier life has begun them, so
// whoever goes on makes them as if for the first time.
type fresh struct {
	mu  sync.Mutex
	ids map[event.ID]bool
}

// set notes the actions of a step. A step begins only where no older one is
// pending.
func (f *fresh) set(evs []event.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ids = map[event.ID]bool{}
	for _, ev := range evs {
		if a, ok := ev.(*event.ActionEvent); ok && a.Action != nil {
			f.ids[a.ID] = true
		}
	}
}

// take reports whether an action is fresh, which it is not any more then.
func (f *fresh) take(id event.ID) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	was := f.ids[id]
	delete(f.ids, id)
	return was
}
