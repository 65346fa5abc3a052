package v0event

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
)

// Query selects V0 events.
type Query struct {
	// Start is the lowest id, End the highest one; a negative End is no bound.
	Start, End int64
	Reverse    bool // the highest id first
	Limit      int
	Filter     Filter
}

// Filter is the contract's EventFilter. Its zero value selects all.
type Filter struct {
	ExcludeHidden bool   `json:"exclude_hidden"`
	Query         string `json:"query"` // text that the event's JSON contains, without regard to case
	Source        string `json:"source"`
	StartDate     string `json:"start_date"` // ISO 8601, both inclusive
	EndDate       string `json:"end_date"`
	// Names of actions and observations.
	IncludeTypes []string `json:"include_types"` // only these, if there are some
	ExcludeTypes []string `json:"exclude_types"`
}

func (f Filter) selects(e *Event) (bool, error) {
	switch at := string(e.Timestamp); {
	case f.Source != "" && f.Source != e.Source,
		f.StartDate != "" && at < f.StartDate,
		f.EndDate != "" && at > f.EndDate,
		f.ExcludeHidden && e.Hidden(),
		len(f.IncludeTypes) > 0 && !slices.Contains(f.IncludeTypes, e.kind()),
		slices.Contains(f.ExcludeTypes, e.kind()):
		return false, nil
	}
	if f.Query == "" {
		return true, nil
	}
	raw, err := json.Marshal(e)
	return strings.Contains(strings.ToLower(string(raw)), strings.ToLower(f.Query)), err
}

// window is how many stored events are read at once where they are shown backwards.
const window = 128

// Page returns one page of the events of a conversation, and whether there are more.
func Page(ctx context.Context, s eventstream.Stream, id event.ConversationID, q Query) (page []*Event, more bool, err error) {
	last, err := s.Last(ctx, id)
	if err != nil {
		return nil, false, err
	}
	if q.End >= 0 {
		last = min(last, SeqOf(q.End))
	}
	add := func(e *Event) (bool, error) {
		if e.ID < q.Start || q.End >= 0 && e.ID > q.End {
			return true, nil
		}
		ok, err := q.Filter.selects(e)
		if err != nil || !ok {
			return true, err
		}
		if len(page) == q.Limit {
			more = true
			return false, nil
		}
		page = append(page, e)
		return true, nil
	}
	first := SeqOf(q.Start)
	if !q.Reverse {
		err = read(ctx, s, id, first, last, add)
		return page, more, err
	}
	for high := last; high >= first && !more; high -= window {
		var some []*Event
		err := read(ctx, s, id, max(first, high-window+1), high, func(e *Event) (bool, error) {
			some = append(some, e)
			return true, nil
		})
		if err != nil {
			return nil, false, err
		}
		for _, e := range slices.Backward(some) {
			if on, err := add(e); err != nil || !on {
				return page, more, err
			}
		}
	}
	return page, more, nil
}

// All calls f for all events of a conversation, in order, until it returns an error.
func All(ctx context.Context, s eventstream.Stream, id event.ConversationID, f func(*Event) error) error {
	last, err := s.Last(ctx, id)
	if err != nil {
		return err
	}
	return read(ctx, s, id, 1, last, func(e *Event) (bool, error) {
		err := f(e)
		return err == nil, err
	})
}

// Finder returns the function that finds the events of a conversation.
func Finder(ctx context.Context, s eventstream.Stream, id event.ConversationID) Lookup {
	return func(ev event.ID) (eventstream.Record, error) { return s.Get(ctx, id, ev) }
}

// read calls f for the events that come from the records from first to last, until it
// returns false. A record that is damaged is left out.
func read(ctx context.Context, s eventstream.Stream, id event.ConversationID, first, last eventstream.Seq, f func(*Event) (bool, error)) error {
	t := Translator{Find: Finder(ctx, s, id)}
	pass := func(evs []*Event) (bool, error) {
		for _, e := range evs {
			if SeqOf(e.ID) > last {
				return false, nil
			}
			if on, err := f(e); err != nil || !on {
				return false, err
			}
		}
		return true, nil
	}
	next := first
	for next <= last || t.Holds() {
		var failed error
		from := next
		for rec, err := range s.Read(ctx, id, next) {
			if err != nil {
				failed = err
				break
			}
			if rec.Seq > last && !t.Holds() {
				return nil
			}
			next = rec.Seq + 1
			if on, err := pass(t.Add(rec)); err != nil || !on {
				return err
			}
		}
		switch {
		case failed == nil && next > last, failed == nil && next == from:
			_, err := pass(t.Flush())
			return err
		case failed != nil && fault.Is(failed, fault.Corrupt):
			next++
		case failed != nil:
			return failed
		}
	}
	return nil
}
