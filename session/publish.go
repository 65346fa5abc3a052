package session

import (
	"context"
	"encoding/json"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/session/internal/lockorder"
	"github.com/deft-dev/deft/state"
)

// publisher tells the watchers of a conversation, and the observer, about changes that are not
// stored.
type publisher struct {
	c       *Conversation
	hub     hub
	outputs outputs                               // of actions
	making  lockorder.Mutex[lockorder.Publishing] // held while a state is made and published, and while a run begins
}

// made notifies the observer of a new conversation.
func (p *publisher) made() error {
	shown, err := p.c.fullState(&state.State{Status: state.Idle})
	if err != nil {
		return err
	}
	p.c.m.o.Observer.Published(p.c.id, shown)
	described, err := p.c.DescribeNew()
	if err != nil {
		return err
	}
	p.c.m.o.Observer.Changed(p.c.id, described)
	return nil
}

// changed notifies the observer of a change.
func (p *publisher) changed(ctx context.Context) {
	if p.c.m.o.Observer == nil {
		return
	}
	raw, err := p.c.Describe(context.WithoutCancel(ctx))
	if err != nil {
		p.c.m.o.Log.Warn("describe a conversation", "conversation", p.c.id, "err", err)
		return
	}
	p.c.m.o.Observer.Changed(p.c.id, raw)
}

// state publishes the present state to watchers, and to the observer too.
func (p *publisher) state(observer bool) {
	w := p.c.active.Load()
	if w == nil || !p.hub.watched() && !(observer && p.c.m.o.Observer != nil) {
		return
	}
	p.making.Lock() // a later state must not be published earlier
	defer p.making.Unlock()
	s := w.State()
	raw, err := p.c.fullState(s)
	if err != nil {
		p.c.m.o.Log.Error("publish the state", "conversation", p.c.id, "err", err)
		return
	}
	p.hub.publish(Transient{After: seqOf(s), Event: raw, FullState: true})
	if observer && p.c.m.o.Observer != nil {
		p.c.m.o.Observer.Published(p.c.id, raw)
	}
}

// error publishes an error that is not part of the conversation.
func (p *publisher) error(code string, err error) {
	p.event(&event.ServerErrorEvent{Base: event.NewBase(event.SourceEnvironment), Code: code, Detail: err.Error()})
}

// sandboxEnd tells watchers that the sandbox has ended, so that they look for its files. The
// conversation is not changed: the next action starts another sandbox.
func (p *publisher) sandboxEnd(st sandbox.Status) {
	ev, err := event.NewStateUpdate(keySandbox, st)
	if err != nil {
		p.c.m.o.Log.Error("publish the end of a sandbox", "conversation", p.c.id, "err", err)
		return
	}
	p.event(ev)
}

// event publishes an event that is never stored.
func (p *publisher) event(ev event.Event) {
	raw, err := event.Marshal(ev)
	if err != nil {
		p.c.m.o.Log.Error("publish an event", "conversation", p.c.id, "kind", ev.Kind(), "err", err)
		return
	}
	t := Transient{Event: raw}
	if w := p.c.active.Load(); w != nil {
		t.After = seqOf(w.State())
	}
	p.hub.publish(t)
}

// Transient is published and never stored: a full state, a ServerErrorEvent, a piece of the
// model's answer, output of a running action, or a warning.
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
	Waiting   *Waiting
}

// Waiting tells a person who watches why nothing happens, or that it is over.
type Waiting struct {
	For  string // follows "waiting for"
	Over bool
}

// Piece is a part of the model's answer (docs/openhands/sdk-wire-1.58.md
// section C.1).
type Piece struct {
	Item    event.ID // of the event that it becomes
	Attempt int
	Started bool
	Anchor  eventstream.Seq // of one that started: the event that it comes after
	Aborted string          // why the item will not become an event
	Order   int             // of texts and reasoning
	Kind    string          // "text", "reasoning", or "call": ours, of an argument of a tool call
	Content string
	Call    int    // counts the calls of the answer from 0
	Tool    string // that is called
	Field   string // the argument; empty for the beginning of a call
	Number  int64  // counts the pieces of all answers of the conversation; the hub sets it
}

// hub has the watchers, and the unfinished answer for later ones. A watcher must not block.
type hub struct {
	mu       lockorder.Mutex[lockorder.Hub]
	watchers map[int]func(Transient)
	next     int
	answer   unfinished
	pieces   int64 // published
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
	if t.Piece != nil {
		t.Piece.Number = h.pieces
		h.pieces++
		h.answer.take(t.Piece)
	}
	for _, f := range h.watchers {
		f(t)
	}
}

// forget drops the unfinished answer: it is an event by now, or is written again.
func (h *hub) forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answer = unfinished{}
}

func (h *hub) unfinished() *Unfinished {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.answer.shown(h.pieces)
}

func (h *hub) watched() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.watchers) > 0
}
