package exchange

import (
	"time"

	"github.com/deft-dev/deft/llm"
)

// Deltas delivers the pieces of an answer. It belongs to one call.
type Deltas struct {
	// HandedOut reports that a piece was delivered: a retry would deliver it
	// twice.
	HandedOut bool

	onDelta func(llm.Delta)
	first   time.Time
	watch   *Watch // of the call; nil for none
}

// To returns Deltas that call onDelta.
func To(onDelta func(llm.Delta)) Deltas { return Deltas{onDelta: onDelta} }

// Emit delivers one piece.
func (d *Deltas) Emit(piece llm.Delta) {
	if !d.HandedOut {
		d.HandedOut, d.first = true, time.Now()
	}
	if d.watch != nil {
		d.watch.content()
	}
	d.onDelta(piece)
}
