package socket

import (
	"encoding/json"
	"strconv"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/session"
)

// entryOf encodes a published value for both kinds of sockets, once for all followers. ok is
// false if the contract has no form for it.
func entryOf(tr *session.Transient) (e entry, ok bool, err error) {
	p := tr.Piece
	if p != nil {
		e.number = p.Number
		if e.answer, err = answerOf(p); err != nil {
			return entry{}, false, err
		}
	}
	switch {
	case tr.Event != nil:
		e.events = clean(tr.Event)
		e.session = append(append([]byte(`{"type":"transient","event":`), e.events...), '}')
	case p == nil:
		return entry{}, false, nil
	case p.Started:
		e.item, e.step, e.attempt = p.Item, begins, p.Attempt
		var anchor *int64
		if p.Anchor > 0 {
			anchor = new(index(p.Anchor))
		}
		e.session, err = json.Marshal(struct {
			Type    string   `json:"type"`
			Item    event.ID `json:"item_id"`
			Attempt int      `json:"attempt"`
			Anchor  *int64   `json:"anchor_seq,omitempty"`
		}{"item_started", p.Item, p.Attempt, anchor})
	case p.Aborted != "":
		e.item, e.step = p.Item, aborts
		e.session = itemAborted(p.Item, p.Attempt, p.Aborted)
	case p.Kind == "call":
		e.item, e.step = p.Item, goesOn
	default:
		err = e.delta(p)
	}
	return e, true, err
}

// delta encodes a part of an answer. Event sockets get it as a StreamingDeltaEvent.
func (e *entry) delta(p *session.Piece) (err error) {
	ev := event.StreamingDeltaEvent{Base: event.NewBase(event.SourceAgent)}
	if p.Kind == "reasoning" {
		ev.ReasoningContent = &p.Content
	} else {
		ev.Content = &p.Content
	}
	if e.events, err = event.Marshal(&ev); err != nil {
		return err
	}
	e.item, e.step = p.Item, goesOn
	e.session, err = json.Marshal(struct {
		Type    string   `json:"type"`
		Item    event.ID `json:"item_id"`
		Attempt int      `json:"attempt"`
		Order   int      `json:"order"`
		Kind    string   `json:"kind"`
		Content string   `json:"content"`
	}{"delta", p.Item, p.Attempt, p.Order, p.Kind, p.Content})
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
