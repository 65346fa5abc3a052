package session

import (
	"slices"

	"github.com/deft-dev/deft/event"
)

// Unfinished is the part of the model's answer that has come so far, without secrets.
type Unfinished struct {
	Item    event.ID // of the event that it becomes; empty if no answer is being written
	Attempt int
	Next    int64 // the number of the first piece that it does not have
	Parts   []Part
}

// Part is a text of an answer: its text, its reasoning, or an argument of a tool call.
type Part struct {
	Kind  string // as of [Piece]
	Call  int
	Tool  string
	Field string
	Text  string // what has come, or the end of it
	Size  int    // of what has come, in bytes
}

func (p *Part) has(piece *Piece) bool {
	return p.Kind == piece.Kind && p.Call == piece.Call && p.Field == piece.Field
}

// Of an unfinished answer this much is kept for later watchers.
const (
	maxParts = 64
	maxKept  = 512 << 10 // bytes of all parts
)

// unfinished keeps an answer while it comes.
type unfinished struct {
	item    event.ID
	attempt int
	parts   []keptPart
	kept    int // bytes
}

type keptPart struct {
	Part
	text []byte
}

// take adds a piece.
func (u *unfinished) take(p *Piece) {
	switch {
	case p.Started:
		*u = unfinished{item: p.Item, attempt: p.Attempt}
	case p.Aborted != "":
		*u = unfinished{}
	case p.Item == u.item:
		u.add(p)
	}
}

func (u *unfinished) add(p *Piece) {
	i := slices.IndexFunc(u.parts, func(k keptPart) bool { return k.has(p) })
	if i < 0 {
		if len(u.parts) == maxParts {
			return
		}
		i = len(u.parts)
		u.parts = append(u.parts, keptPart{Part: Part{Kind: p.Kind, Call: p.Call, Tool: p.Tool, Field: p.Field}})
	}
	k := &u.parts[i]
	k.Size += len(p.Content)
	k.text = append(k.text, p.Content...)
	if u.kept += len(p.Content); u.kept > maxKept {
		u.cut()
	}
}

// cut leaves the end of the longest part.
func (u *unfinished) cut() {
	k := &u.parts[0]
	for i := range u.parts {
		if len(u.parts[i].text) > len(k.text) {
			k = &u.parts[i]
		}
	}
	was := len(k.text)
	k.text = append([]byte(nil), lineEnd(k.text, was/2)...)
	u.kept -= was - len(k.text)
}

// shown returns a copy.
func (u *unfinished) shown(next int64) *Unfinished {
	out := &Unfinished{Item: u.item, Attempt: u.attempt, Next: next}
	for _, k := range u.parts {
		k.Part.Text = string(k.text)
		out.Parts = append(out.Parts, k.Part)
	}
	return out
}

// Unfinished returns the answer that the model is writing. Later pieces of it are published
// with numbers from Next on.
func (c *Conversation) Unfinished() *Unfinished { return c.publish.hub.unfinished() }
