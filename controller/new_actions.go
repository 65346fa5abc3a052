package controller

import (
	"sync"

	"github.com/deft-dev/deft/event"
)

// newActions are the actions of the last step that were stored and not yet
// executed, as the model wrote them: the stored ones are masked. A pause can come in
// between. This process stored them, so the next run executes them as for the first time.
type newActions struct {
	mu  sync.Mutex
	all map[event.ID]*event.ActionEvent
}

// set notes the actions of a step. A step begins only where no older one is
// pending.
func (n *newActions) set(evs []event.Event) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = map[event.ID]*event.ActionEvent{}
	for _, ev := range evs {
		if a, ok := ev.(*event.ActionEvent); ok && a.Action != nil {
			n.all[a.ID] = a
		}
	}
}

// take removes an action and returns it; nil if it is not there.
func (n *newActions) take(id event.ID) *event.ActionEvent {
	n.mu.Lock()
	defer n.mu.Unlock()
	a := n.all[id]
	delete(n.all, id)
	return a
}
