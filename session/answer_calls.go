package session

import (
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/secret"
	"github.com/deft-dev/deft/session/internal/arguments"
)

// maxCalls bounds the tool calls of one answer that are shown while they are written.
const maxCalls = 32

// writtenCall is a tool call that the model writes. The values of its arguments are masked as
// the program will get them: their escapes in JSON could hide a secret.
type writtenCall struct {
	p     *answerStream
	index int
	tool  string
	args  arguments.Reader
	field string         // the argument that is being written
	mask  *secret.Stream // of its text
}

// call takes a piece of a tool call.
func (p *answerStream) call(d *llm.ToolCallDelta) {
	w := p.calls[d.Index]
	if w == nil {
		if len(p.calls) == maxCalls {
			return
		}
		w = &writtenCall{p: p, index: d.Index}
		p.calls[d.Index] = w
	}
	if w.tool == "" && d.Name != "" {
		w.tool = d.Name
		w.show("", "")
	}
	w.args.Feed(d.Arguments, func(field, text string) {
		if field != w.field {
			w.flush()
			w.field, w.mask = field, p.c.secrets.Stream()
		}
		w.show(field, w.mask.Feed(text))
	})
	if w.args.Field() != w.field {
		w.flush()
	}
}

// flush publishes the text that was withheld as a possible secret.
func (w *writtenCall) flush() {
	if w.mask != nil {
		w.show(w.field, w.mask.Flush())
	}
	w.field, w.mask = "", nil
}

func (w *writtenCall) show(field, text string) {
	if field == "" || text != "" {
		w.p.publish(Piece{Item: w.p.item, Attempt: w.p.attempt, Kind: kindCall, Content: text, Call: w.index, Tool: w.tool, Field: field})
	}
}

// kindCall is the kind of a [Piece] of a tool call.
const kindCall = "call"
