package exchange

import (
	"time"

	"github.com/deft-dev/deft/llm"
)

// Deltas hands the pieces of an answer on. It belongs to one call.
type Deltas struct {
	// HandedOut says that there was one: another try would show it twice.
	HandedOut bool

	onDelta func(llm.Delta)
	first   time.Time
}

// To makes Deltas that go to onDelta.
func To(onDelta func(llm.Delta)) Deltas { return Deltas{onDelta: onDelta} }

// Emit hands one piece on.
func (d *Deltas) Emit(piece llm.Delta) {
	if !d.HandedOut {
		d.HandedOut, d.first = true, time.Now()
	}
	d.onDelta(piece)
}
