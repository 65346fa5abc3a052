package session

import (
	"encoding/json"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
)

// Transient is something that is published and never stored: a full_state, a
// ServerErrorEvent, a piece of what the model writes, output of a running action, or a
// warning.
type Transient struct {
	// After is the Seq of the last stored event that came before it: a
	// follower shows it after that one. Output has none.
	After eventstream.Seq
	// Event is the event's JSON, or nil for the others.
	Event     json.RawMessage
	FullState bool // Event is a full_state
	Piece     *Piece
	Output    *Output
	Warning   string // for a person who watches
}

// Piece is a part of what the model is writing (docs/openhands/sdk-wire-1.58.md
// section C.1).
type Piece struct {
	Item    event.ID // of the event that it becomes
	Attempt int
	Started bool
	Anchor  eventstream.Seq // of one that started: the event that it comes after
	Aborted string          // why the item will not become an event
	Order   int
	Kind    string // "text" or "reasoning"
	Content string
}

// hub publishes to watchers what is not stored. A watcher must not block.
type hub struct {
	mu       mutex[hubOrder]
	watchers map[int]func(Transient)
	next     int
}

func (h *hub) watch(f func(Transient)) (cancel func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.watchers == nil {
		h.watchers = map[int]func(Transient){}
	}
	id := h.next
	h.next++
	h.watchers[id] = f
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.watchers, id)
	}
}

func (h *hub) publish(t Transient) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, f := range h.watchers {
		f(t)
	}
}

func (h *hub) watched() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.watchers) > 0
}
