package eventstream

import (
	"fmt"

	"github.com/deft-dev/deft/fault"
)

// Run is an unbroken run of events of a conversation, all of which were appended to one
// source: First, First+1 … are SourceFirst, SourceFirst+1 … there. Stores share events of
// forks so.
type Run struct {
	First       Seq
	Source      int64 // a store's own number of a conversation
	SourceFirst Seq
	Events      Seq
}

// Last is the last event of the run.
func (r Run) Last() Seq { return r.First + r.Events - 1 }

// within returns the part of a run that lies in first..last, which may be empty.
func (r Run) within(first, last Seq) Run {
	lo, hi := max(first, r.First), min(last, r.Last())
	return Run{lo, r.Source, r.SourceFirst + lo - r.First, hi - lo + 1}
}

// Parts returns where the events first..last of some runs, which are in order, are stored.
func Parts(runs []Run, first, last Seq) []Run {
	var out []Run
	for _, r := range runs {
		if r = r.within(first, last); r.Events > 0 {
			out = append(out, r)
		}
	}
	return out
}

// Share returns the runs of a fork that takes over segments of a conversation with these
// runs. Invalid if it has no such segments.
func Share(runs []Run, taken []Segment) ([]Run, error) {
	var events Seq
	if n := len(runs); n > 0 {
		events = runs[n-1].Last()
	}
	var out []Run
	var end Seq // of the conversation, so far
	next := Seq(1)
	for _, t := range taken {
		if t.First < 1 || t.Last < t.First || t.Last > events {
			return nil, fault.New(fault.Invalid, fmt.Sprintf("segment %d..%d is not within the %d events of the conversation", t.First, t.Last, events))
		}
		if t.First <= end {
			return nil, fault.New(fault.Invalid, fmt.Sprintf("segment %d..%d does not lie behind the one before it", t.First, t.Last))
		}
		end = t.Last
		for _, r := range Parts(runs, t.First, t.Last) {
			r.First = next
			next += r.Events
			if n := len(out); n > 0 && out[n-1].Source == r.Source && out[n-1].SourceFirst+out[n-1].Events == r.SourceFirst {
				out[n-1].Events += r.Events
				continue
			}
			out = append(out, r)
		}
	}
	return out, nil
}
