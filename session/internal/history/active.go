package history

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/state"
)

// Active returns the parts of a conversation with the branch of HEAD, in order. All events
// between them were undone. It reads the state updates only.
func Active(ctx context.Context, s eventstream.Stream, id event.ConversationID) ([]eventstream.Segment, error) {
	n, err := s.Count(ctx, id, eventstream.Query{})
	if err != nil {
		return nil, fmt.Errorf("count the events of conversation %s: %w", id, err)
	}
	var active []eventstream.Segment
	end := eventstream.Seq(n)
	for q := (eventstream.Query{Kinds: []string{kindStateUpdate}, Order: eventstream.Descending}); end > 0; {
		page, err := s.Search(ctx, id, q)
		if err != nil {
			return nil, fmt.Errorf("read the state updates of conversation %s: %w", id, err)
		}
		for _, rec := range page.Records {
			if rec.Seq > end { // on a branch that was left later
				continue
			}
			to, moved, err := movedTo(rec)
			if err != nil {
				return nil, err
			}
			if !moved {
				continue
			}
			active = append(active, eventstream.Segment{First: rec.Seq, Last: end})
			end = 0
			if to == "" {
				break
			}
			at, err := s.Get(ctx, id, to)
			if err != nil {
				return nil, fmt.Errorf("read event %s: %w", to, err)
			}
			end = at.Seq
		}
		if q.PageID = page.NextID; q.PageID == "" {
			break
		}
	}
	if end > 0 {
		active = append(active, eventstream.Segment{First: 1, Last: end})
	}
	slices.Reverse(active)
	return active, nil
}

// movedTo returns the event that HEAD was moved to, "" for none; moved is false for a state
// update that moves nothing.
func movedTo(rec eventstream.Record) (to event.ID, moved bool, err error) {
	var up struct {
		Key   string          `json:"key"`
		Value json.RawMessage `json:"value"`
	}
	err = json.Unmarshal(rec.JSON, &up)
	if moved = err == nil && up.Key == state.KeyHead; moved {
		err = json.Unmarshal(up.Value, &to) // null leaves it empty
	}
	if err != nil {
		return "", false, fault.Wrap(err, fault.Corrupt, "read event "+string(rec.ID))
	}
	return to, moved, nil
}
