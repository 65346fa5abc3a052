package socket

import (
	"encoding/json"
	"strconv"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
)

// Transient is something that is published without being stored. Exactly one of
// Event, Started, Delta and Aborted is set.
type Transient struct {
	// After is the last event that was stored before it: followers get that
	// first. A full state with a smaller After than the one before is older and
	// dropped.
	After eventstream.Seq
	// Event is an event's JSON: a ConversationStateUpdateEvent with the key
	// full_state, a ServerErrorEvent.
	Event json.RawMessage
	// FullState marks Event as a full state. Followers that have a newer one do
	// not get it.
	FullState bool

	Started *ItemStarted
	Delta   *Delta
	Aborted *ItemAborted
}

// ItemStarted is the start of a streamed answer, for session sockets only.
type ItemStarted struct {
	// Item is the id that the finished event will have.
	Item    event.ID
	Attempt int // from 1; a higher one supersedes
	// Anchor is the last event before the item, 0 if there is none.
	Anchor eventstream.Seq
}

// The kinds of deltas.
const (
	DeltaText      = "text"
	DeltaReasoning = "reasoning"
)

// Delta is a part of an answer, with secrets masked. Event sockets get it as a
// StreamingDeltaEvent.
type Delta struct {
	Item    event.ID
	Attempt int
	Order   int    // from 0 within the attempt
	Kind    string // DeltaText or DeltaReasoning
	Content string
	ChunkID string // the provider's, "" if it has none
	Choice  int    // -1 for none
}

// ItemAborted is the end of an item without its event.
type ItemAborted struct {
	Item    event.ID
	Attempt int
	Reason  string // no_durable_event, cancelled, or the name of an error
}

// entry encodes it for both kinds of sockets, once for all followers.
func (tr *Transient) entry() (e entry, err error) {
	switch {
	case tr.Event != nil:
		e.events = clean(tr.Event)
		e.session = append(append([]byte(`{"type":"transient","event":`), e.events...), '}')
	case tr.Started != nil:
		e.item, e.step, e.attempt = tr.Started.Item, begins, tr.Started.Attempt
		var anchor *int64
		if tr.Started.Anchor > 0 {
			n := index(tr.Started.Anchor)
			anchor = &n
		}
		e.session, err = json.Marshal(struct {
			Type    string   `json:"type"`
			Item    event.ID `json:"item_id"`
			Attempt int      `json:"attempt"`
			Anchor  *int64   `json:"anchor_seq,omitempty"`
		}{"item_started", tr.Started.Item, tr.Started.Attempt, anchor})
	case tr.Delta != nil:
		err = tr.Delta.entry(&e)
	case tr.Aborted != nil:
		e.item, e.step = tr.Aborted.Item, aborts
		e.session = itemAborted(tr.Aborted.Item, tr.Aborted.Attempt, tr.Aborted.Reason)
	}
	return e, err
}

func (d *Delta) entry(e *entry) (err error) {
	ev := event.StreamingDeltaEvent{Base: event.NewBase(event.SourceAgent)}
	if d.Kind == DeltaReasoning {
		ev.ReasoningContent = &d.Content
	} else {
		ev.Content = &d.Content
	}
	if e.events, err = event.Marshal(&ev); err != nil {
		return err
	}
	var choice *int
	if d.Choice >= 0 {
		choice = &d.Choice
	}
	e.item, e.step = d.Item, goesOn
	e.session, err = json.Marshal(struct {
		Type    string   `json:"type"`
		Item    event.ID `json:"item_id"`
		Attempt int      `json:"attempt"`
		Order   int      `json:"order"`
		Kind    string   `json:"kind"`
		Content string   `json:"content"`
		ChunkID string   `json:"chunk_id,omitempty"`
		Choice  *int     `json:"choice_index,omitempty"`
	}{"delta", d.Item, d.Attempt, d.Order, d.Kind, d.Content, d.ChunkID, choice})
	return err
}

func itemAborted(item event.ID, attempt int, reason string) []byte {
	b := append([]byte(`{"type":"item_aborted","item_id":`), quoted(string(item))...)
	b = strconv.AppendInt(append(b, `,"attempt":`...), int64(attempt), 10)
	return append(append(append(b, `,"reason":`...), quoted(reason)...), '}')
}

func quoted(s string) []byte {
	b, _ := json.Marshal(s) // never fails for text
	return b
}

// index is the number of an event on the wire: its index in the log, from 0.
func index(seq eventstream.Seq) int64 { return int64(seq) - 1 }
