package conversation

import (
	"sync"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/secret"
)

// writer publishes what the model writes, masked, as it comes.
type writer struct {
	c *Conversation
	w *work

	mu    sync.Mutex
	item  event.ID
	order int
	masks map[string]*secret.Stream // by kind
}

func newWriter(c *Conversation, w *work) *writer { return &writer{c: c, w: w} }

// delta takes a piece of the answer that becomes the event item.
func (p *writer) delta(item event.ID, d llm.Delta) {
	if !p.w.streams.Load() || !p.c.hub.watched() {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.item != item {
		p.item, p.order, p.masks = item, 0, map[string]*secret.Stream{}
		p.publish(Piece{Item: item, Attempt: 1, Started: true})
	}
	if d.Text == "" && d.Reasoning == "" && d.ToolCall == nil { // the answer is complete
		p.flush()
		return
	}
	p.piece("text", d.Text)
	p.piece("reasoning", d.Reasoning)
}

// flush publishes what was held back because it could have become a secret.
func (p *writer) flush() {
	for _, kind := range []string{"reasoning", "text"} {
		if m := p.masks[kind]; m != nil {
			p.show(kind, m.Flush())
		}
	}
}

func (p *writer) piece(kind, text string) {
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

func (p *writer) show(kind, text string) {
	if text == "" {
		return
	}
	p.publish(Piece{Item: p.item, Attempt: 1, Order: p.order, Kind: kind, Content: text})
	p.order++
}

// publish places a piece behind what is stored by now.
func (p *writer) publish(piece Piece) {
	p.c.hub.publish(Transient{After: seqOf(p.w.State()), Piece: &piece})
}
