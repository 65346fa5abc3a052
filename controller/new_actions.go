package controller

import (
	"sync"

	"github.com/deft-dev/deft/event"
)

// newActions are the actions of the last step that were stored and not yet
// executed. A pause can come in between. This process stored them, so the next
// run executes them as for the first time.
type newActions struct {
	mu  sync.Mutex
	ids map[event.ID]bool
}

// set notes the actions of a step. A step begins only where no older one is
// pending.
func (n *newActions) set(evs []event.Event) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ids = map[event.ID]bool{}
	for _, ev := range evs {
		if a, ok := ev.(*event.ActionEvent); ok && a.Action != nil {
			n.ids[a.ID] = true
		}
	}
}

// take removes an action and reports whether it was there.
func (n *newActions) take(id event.ID) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	was := n.ids[id]
	delete(n.ids, id)
	return was
}
