package postgres

import (
	"fmt"

	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
)

// segment is an unbroken run of events of a conversation, all of which were
// appended to one source: first, first+1 … are sourceFirst, sourceFirst+1 …
// there.
type segment struct {
	first       eventstream.Seq
	source      int64
	sourceFirst eventstream.Seq
	events      eventstream.Seq
}

func (g segment) last() eventstream.Seq { return g.first + g.events - 1 }

// within returns the part of a segment that lies in first..last, which may be
// empty.
func (g segment) within(first, last eventstream.Seq) segment {
	lo, hi := max(first, g.first), min(last, g.last())
	return segment{lo, g.source, g.sourceFirst + lo - g.first, hi - lo + 1}
}

// parts returns where the events first..last are stored, in their order.
func (c *conversation) parts(first, last eventstream.Seq) []segment {
	own := segment{c.shared + 1, c.key, c.shared + 1, c.events - c.shared}
	var out []segment
	for _, g := range append(c.segments[:len(c.segments):len(c.segments)], own) {
		if g = g.within(first, last); g.events > 0 {
			out = append(out, g)
		}
	}
	return out
}

// share returns the segments of a fork that takes over some events.
func (c *conversation) share(taken []eventstream.Segment) ([]segment, error) {
	var out []segment
	var end eventstream.Seq // of c, so far
	next := eventstream.Seq(1)
	for _, t := range taken {
		if t.First < 1 || t.Last < t.First || t.Last > c.events {
			return nil, fault.New(fault.Invalid, fmt.Sprintf("segment %d..%d is not within the %d events of the conversation", t.First, t.Last, c.events))
		}
		if t.First <= end {
			return nil, fault.New(fault.Invalid, fmt.Sprintf("segment %d..%d does not lie behind the one before it", t.First, t.Last))
		}
		end = t.Last
		for _, g := range c.parts(t.First, t.Last) {
			g.first = next
			next += g.events
			if n := len(out); n > 0 && out[n-1].source == g.source && out[n-1].sourceFirst+out[n-1].events == g.sourceFirst {
				out[n-1].events += g.events
				continue
			}
			out = append(out, g)
		}
	}
	return out, nil
}
