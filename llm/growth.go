package llm

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/deft-dev/deft/event"
)

// Growth lets a caller that sends the same growing history with each call declare
// its unchanged part, so that each call processes only the new messages: as long
// as the messages are in the same array, the fixed ones, and the values they
// reference, never change. The zero value is ready to use.
//
// The declaration is passed in the context and holds for exactly the slice it
// was made for. A copy of the history is not bound by it, and a model may
// ignore it.
//
// A Growth is safe for concurrent use. It belongs to one conversation.
type Growth struct {
	mu     sync.Mutex
	id     uint64
	array  *event.Message  // the first message of the latest history
	fixed  int             // of it
	normal normalizedCheck // of the messages in it
}

// growing is the value stored in a context.
type growing struct {
	of    *Growth
	id    uint64
	msgs  []event.Message
	fixed int
}

type growthKey struct{}

// arrays numbers the arrays of histories. It skips numbers for histories that
// begin a few messages later in the same array.
var arrays atomic.Uint64

const mostSkipped = 7

// Context returns a context for a call that sends msgs. The first fixed
// messages must not change any more in their array.
func (g *Growth) Context(ctx context.Context, msgs []event.Message, fixed int) context.Context {
	if len(msgs) == 0 {
		return ctx
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	fixed = min(fixed, len(msgs))
	if &msgs[0] != g.array || fixed < g.fixed {
		g.array, g.id, g.normal = &msgs[0], arrays.Add(mostSkipped+1), normalizedCheck{}
	}
	g.fixed = fixed
	return context.WithValue(ctx, growthKey{}, &growing{g, g.id, msgs, fixed})
}

// Fixed returns how many of the first messages of msgs are declared not to
// change, and the id of their array: while the id is the same, so are the
// messages. Without a declaration fixed is 0. msgs may lack a few messages at
// the beginning of the declared history.
func Fixed(ctx context.Context, msgs []event.Message) (id uint64, fixed int) {
	p, ok := ctx.Value(growthKey{}).(*growing)
	if !ok || len(msgs) == 0 {
		return 0, 0
	}
	for k := range min(len(p.msgs), mostSkipped+1) {
		if &p.msgs[k] == &msgs[0] {
			return p.id + uint64(k), max(0, min(p.fixed-k, len(msgs)))
		}
	}
	return 0, 0
}

// NormalizeGrown is Normalize for a history that may be declared with [Growth]:
// messages checked in an earlier call are not checked again.
func NormalizeGrown(ctx context.Context, msgs []event.Message) []event.Message {
	p, ok := ctx.Value(growthKey{}).(*growing)
	if !ok || len(msgs) == 0 || &p.msgs[0] != &msgs[0] || len(p.msgs) != len(msgs) {
		return Normalize(msgs)
	}
	if p.of.checked(p) {
		return msgs
	}
	return Normalize(msgs)
}

// checked reports whether the history of p is normalized.
func (g *Growth) checked(p *growing) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.id != p.id { // another history came in between
		return false
	}
	return g.normal.scan(p.msgs, p.fixed)
}
