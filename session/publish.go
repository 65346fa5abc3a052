package session

import (
	"context"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/state"
)

// publisher tells the watchers of a conversation, and the observer, about changes that are not
// stored.
type publisher struct {
	c       *Conversation
	hub     hub
	outputs outputs            // of actions
	making  mutex[makingOrder] // held while a state is made and published, and while a run begins
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
