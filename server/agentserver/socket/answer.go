package socket

import (
	"encoding/json"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/session"
)

// answerFrame is Deft's own: a part of an unfinished answer, for event sockets that ask for
// `answers`. It comes in place of StreamingDeltaEvents.
type answerFrame struct {
	Type    string       `json:"type"`
	Item    event.ID     `json:"item_id"`
	Attempt int          `json:"attempt"`
	Whole   bool         `json:"whole,omitempty"` // it has all of the answer so far
	Aborted string       `json:"aborted,omitempty"`
	Parts   []answerPart `json:"parts"`
}

type answerPart struct {
	Kind  string `json:"kind"`
	Call  int    `json:"call,omitempty"`
	Tool  string `json:"tool,omitempty"`
	Field string `json:"field,omitempty"`
	Text  string `json:"text"`
	Size  int    `json:"size,omitempty"` // in bytes, of a part that has lost its beginning
}

// answerOf encodes a piece of an answer.
func answerOf(p *session.Piece) ([]byte, error) {
	f := answerFrame{Type: "answer", Item: p.Item, Attempt: p.Attempt, Whole: p.Started, Aborted: p.Aborted, Parts: []answerPart{}}
	if !p.Started && p.Aborted == "" {
		f.Parts = append(f.Parts, answerPart{Kind: p.Kind, Call: p.Call, Tool: p.Tool, Field: p.Field, Text: p.Content})
	}
	return json.Marshal(f)
}

// sendOwn sends the queue, and the answer so far, to a client that asked for answers. Pieces
// that it has are skipped later.
func (f *follower) sendOwn() error {
	if !f.p.answers {
		return nil
	}
	u := f.c.Unfinished() // before the first frame: the client gets all that is published after it
	f.piece = u.Next
	queue, err := f.c.OpenQueue()
	if err == nil {
		err = f.l.sendText(queue)
	}
	if err != nil {
		return err
	}
	if u.Item == "" {
		return nil
	}
	frame := answerFrame{Type: "answer", Item: u.Item, Attempt: u.Attempt, Whole: true, Parts: []answerPart{}}
	for _, p := range u.Parts {
		part := answerPart{Kind: p.Kind, Call: p.Call, Tool: p.Tool, Field: p.Field, Text: p.Text}
		if p.Size > len(p.Text) {
			part.Size = p.Size
		}
		frame.Parts = append(frame.Parts, part)
	}
	raw, err := json.Marshal(frame)
	if err != nil {
		return err
	}
	return f.l.sendText(raw)
}

// event returns the frame of an entry for an event socket; nil for none.
func (f *follower) event(e *entry) []byte {
	switch {
	case !f.p.answers || e.answer == nil:
		return e.events
	case e.number < f.piece:
		return nil
	}
	return e.answer
}
