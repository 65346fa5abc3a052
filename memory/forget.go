package memory

import (
	"context"
	"math"

	"github.com/deft-dev/deft/event"
)

// forgets is part of condensers that leave events out, and show the others as they are.
type forgets struct{}

// Show implements [Condenser].
func (forgets) Show(view []event.Event) []event.Event { return view }

// Forgets implements [Condenser].
func (forgets) Forgets() bool { return true }

// Forgetting leaves out the middle of a view without a summary.
type Forgetting struct {
	// MaxSize is the number of events beyond which the middle is left out; 0 for the
	// model's window and requests alone.
	MaxSize int
	// KeepFirst is how many events at the start stay, beside the system prompt.
	KeepFirst int
	// KeepLast is how many at the end stay. The fewer, the longer the prompt's start
	// stays as it is, for the provider's cache.
	KeepLast int

	forgets
}

// Amortized forgets down to half of its size.
func Amortized(size, first int) Forgetting {
	return Forgetting{MaxSize: size, KeepFirst: first, KeepLast: size/2 - first}
}

// Recent keeps the first events, and of the last ones between three quarters of the rest and all of
// it: the start of the prompt changes once in a quarter of the size, not with each event.
func Recent(size, first int) Forgetting {
	return Forgetting{MaxSize: size, KeepFirst: first, KeepLast: max((size-first)*3/4, 1)}
}

func (c Forgetting) room() room {
	r := room{size: c.MaxSize, last: max(c.KeepLast, 0), first: c.KeepFirst, beside: true, progress: leastProgress}
	if r.size <= 0 {
		r.size, r.last = math.MaxInt, math.MaxInt
	}
	return r
}

// Needed implements [Condenser].
func (c Forgetting) Needed(t Turn) bool { return c.room().needed(t) }

// Condense implements [Condenser].
func (c Forgetting) Condense(_ context.Context, t Turn) (*event.Condensation, error) {
	r := c.room()
	from, to := r.span(t, r.over(t))
	if to <= from {
		return nil, nil
	}
	return condensation(t.State.View[from:to], ""), nil
}
