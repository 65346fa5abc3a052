package llm

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/deft-dev/deft/event"
)

// Growth is a promise of who sends one history again and again while it grows,
// so that a call looks only at what is new: as long as the messages stand in
// one array, those said to be fixed never change, nor does what they hold. The
// zero value is ready.
//
// The promise travels in the context, and holds only for the very slice it was
// given for: whoever makes a history of its own of it is not bound, and a model
// that does not know of it works as ever.
//
// A Growth is safe for concurrent use; the histories it is given are to be
// those of one conversation.
type Growth struct {
	mu     sync.Mutex
	id     uint64
	array  *event.Message  // the first message of the latest history
	fixed  int             // of it
	normal normalizedCheck // of the messages in it
}

// growing is what a context carries.
type growing struct {
	of    *Growth
	id    uint64
	msgs  []event.Message
	fixed int
}

type growthKey struct{}

// arrays numbers the arrays that histories stand in. The numbers leave room for
// histories that begin a little later in the same array.
var arrays atomic.Uint64

const mostSkipped = 7

// Context returns a context for a call that sends msgs, of which the first
// fixed will not change any more where they are.
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

// Fixed says how many of the first messages of msgs are promised not to change
// any more, and of which array that was said: while id is the same, so are
// they. Without a promise, fixed is 0. msgs may lack a few messages at the
// beginning of what the promise was given for.
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

// NormalizeGrown is Normalize of a history that may be promised to grow: what
// was looked at in a call before is not looked at again.
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

// checked reports whether the history of p is normal.
func (g *Growth) checked(p *growing) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.id != p.id { // another history came in between
		return false
	}
	return g.normal.scan(p.msgs, p.fixed)
}
