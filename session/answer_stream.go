package session

import (
	"context"
	"slices"

	"github.com/deft-dev/deft/agent"
	"github.com/deft-dev/deft/controller"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/secret"
	"github.com/deft-dev/deft/session/internal/lockorder"
	"github.com/deft-dev/deft/state"
)

// answerStream publishes the model's answer while it comes, masked.
type answerStream struct {
	c *Conversation
	w *worker

	mu      lockorder.Mutex[lockorder.Part]
	item    event.ID // that began and has not been seen to end
	after   eventstream.Seq
	emitted eventstream.Seq // what the step has stored so far
	attempt int
	void    bool // the attempt has failed, and another comes
	order   int
	masks   map[string]*secret.Stream // by kind
	calls   map[int]*writtenCall
}

func newAnswerStream(c *Conversation, w *worker) *answerStream { return &answerStream{c: c, w: w} }

// streamedAgent is an agent whose answers an answerStream publishes as they come.
type streamedAgent struct {
	agent.Agent
	p *answerStream
}

// Reopens implements [agent.Reopener].
func (o streamedAgent) Reopens(had *event.SystemPromptEvent) bool {
	again, ok := o.Agent.(agent.Reopener)
	return ok && again.Reopens(had)
}

// Acts implements [agent.Acting].
func (o streamedAgent) Acts() bool { return agent.Acts(o.Agent) }

// Step implements [agent.Agent].
func (o streamedAgent) Step(ctx context.Context, t agent.Turn) ([]event.Event, error) {
	o.p.next()
	asking, answered := context.WithCancel(ctx)
	defer answered()
	if o.Acts() {
		o.p.w.checkpoints.beforeTurn(ctx)
	} else {
		o.p.w.checkpoints.ahead(asking)
	}
	t.Delta = func(item event.ID, d llm.Delta) { o.p.delta(t.State, item, d) }
	emit := t.Emit
	t.Emit = func(evs ...event.Event) error {
		err := emit(evs...)
		if err == nil {
			o.p.stored(evs)
		}
		return err
	}
	evs, err := o.Agent.Step(ctx, t)
	if err == nil {
		evs = o.p.w.judgement.judge(ctx, t.State, evs)
	}
	o.p.stepped(ctx, evs, err)
	return evs, err
}

// delta takes a piece of the answer that becomes the event item. shown is the agent's state:
// it may not be stored yet, and followers get it before the answer.
func (p *answerStream) delta(shown *state.State, item event.ID, d llm.Delta) {
	if !p.w.streams.Load() {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.item != item:
		p.item, p.after, p.attempt = item, max(seqOf(shown), p.emitted), 0
		fallthrough
	case p.void:
		p.void, p.order, p.masks, p.calls = false, 0, map[string]*secret.Stream{}, map[int]*writtenCall{}
		p.attempt++
		p.publish(Piece{Item: item, Attempt: p.attempt, Started: true, Anchor: p.after})
	}
	if d.Text == "" && d.Reasoning == "" && d.ToolCall == nil { // the answer is complete
		p.flush()
		return
	}
	p.piece("text", d.Text)
	p.piece("reasoning", d.Reasoning)
	if d.ToolCall != nil {
		p.call(d.ToolCall)
	}
}

// flush publishes the text that was withheld as a possible secret.
func (p *answerStream) flush() {
	for _, kind := range []string{"reasoning", "text"} {
		if m := p.masks[kind]; m != nil {
			p.show(kind, m.Flush())
		}
	}
	for _, w := range p.calls {
		w.flush()
	}
}

func (p *answerStream) piece(kind, text string) {
	if text == "" {
		return
	}
	m := p.masks[kind]
	if m == nil {
		m = p.c.secrets.Stream()
		p.masks[kind] = m
	}
	p.show(kind, m.Feed(text))
}

func (p *answerStream) show(kind, text string) {
	if text == "" {
		return
	}
	p.publish(Piece{Item: p.item, Attempt: p.attempt, Order: p.order, Kind: kind, Content: text})
	p.order++
}

// publish places a piece after the events that are stored by now, and after the agent's state.
func (p *answerStream) publish(piece Piece) {
	p.c.publish.hub.publish(Transient{After: max(seqOf(p.w.State()), p.after), Piece: &piece})
}

// next forgets the answer before, which is an event by now.
func (p *answerStream) next() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.item, p.void, p.emitted = "", false, 0
	p.c.publish.hub.forget()
}

// stored notes events that a step has stored before its end.
func (p *answerStream) stored(evs []event.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.emitted = seqOf(p.w.State())
	if p.item != "" && holds(evs, p.item) {
		p.item = ""
	}
}

func holds(evs []event.Event, item event.ID) bool {
	return slices.ContainsFunc(evs, func(ev event.Event) bool { return ev.Meta().ID == item })
}

// retry discards the answer so far: another attempt follows.
func (p *answerStream) retry() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.void = p.item != ""
	p.c.publish.hub.forget()
}

// stepped ends an item that becomes no event.
func (p *answerStream) stepped(ctx context.Context, evs []event.Event, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.item == "":
	case ctx.Err() != nil && err != nil:
		p.abort("cancelled")
	case err != nil:
		p.abort(controller.ErrorCode(err))
	case !holds(evs, p.item):
		p.abort(noEvent)
	}
}

const noEvent = "no_durable_event"

// settle ends an item at the end of a run, if its event was never stored.
func (p *answerStream) settle(ctx context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.item == "" {
		return
	}
	if p.w.State().Status != state.Finished {
		if _, err := p.c.m.o.Store.Get(ctx, p.c.id, p.item); fault.Is(err, fault.NotFound) {
			p.abort(noEvent)
		}
	}
	p.item = ""
	p.c.publish.hub.forget()
}

func (p *answerStream) abort(why string) {
	p.flush()
	p.publish(Piece{Item: p.item, Attempt: max(p.attempt, 1), Aborted: why})
	p.item = ""
}
