package codeact

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/llm"
)

// unknownWindow is taken as the context window of a model that is not known, in tokens.
const unknownWindow = 256 << 10

// fitting cuts messages that would fill the model's context window by themselves: no condensation
// keeps anything of them but notes, which are written from a small part.
type fitting struct {
	most int // bytes of a message; a token has more than two, so it is less than half of the window
	cut  map[*event.MessageEvent]*event.MessageEvent
	told map[*event.MessageEvent]bool // the notice was given
}

// tooLong tells the user, and the model, that a message was cut.
const tooLong = "The model cannot take all of the last long message, which has %d KiB: it reads the first and the last %d KiB. For the rest, save the text as a file in the workspace and name the file."

// view returns a view whose messages keep their beginning and their end. The input is not changed.
func (f *fitting) view(view []event.Event, info llm.Info) []event.Event {
	if most := cmp.Or(info.ContextWindow, unknownWindow); f.most != most {
		f.most, f.cut, f.told = most, map[*event.MessageEvent]*event.MessageEvent{}, map[*event.MessageEvent]bool{}
	}
	out := view
	for i, ev := range view {
		e, ok := ev.(*event.MessageEvent)
		if !ok || size(e) <= f.most {
			continue
		}
		if &out[0] == &view[0] {
			out = slices.Clone(view)
		}
		if f.cut[e] == nil {
			f.cut[e] = clipped(e, f.most)
		}
		out[i] = f.cut[e]
	}
	return out
}

// notice returns the notice about a message that was cut, nil for none. Each is told of
// once, and after a resume only if the conversation does not say it already.
func (f *fitting) notice(view []event.Event) event.Event {
	if len(f.told) == len(f.cut) {
		return nil
	}
	for i, ev := range view {
		e, ok := ev.(*event.MessageEvent)
		if !ok || f.cut[e] == nil || f.told[e] {
			continue
		}
		f.told[e] = true
		text := fmt.Sprintf(tooLong, size(e)>>10, f.most>>11)
		if !slices.ContainsFunc(view[i:], func(ev event.Event) bool {
			m, ok := ev.(*event.MessageEvent)
			return ok && m.Source == event.SourceEnvironment && event.JoinText(m.LLMMessage.Content) == text
		}) {
			return environment(text)
		}
	}
	return nil
}

// size is how many bytes the texts of a message have. It is asked for each message of each step.
func size(e *event.MessageEvent) (n int) {
	for _, part := range e.LLMMessage.Content {
		n += len(part.Text)
	}
	return n
}

// clipped returns a copy of a message whose texts have at most so many bytes together.
func clipped(e *event.MessageEvent, most int) *event.MessageEvent {
	c := *e
	c.LLMMessage.Content = slices.Clone(c.LLMMessage.Content)
	texts := 0
	for _, part := range c.LLMMessage.Content {
		if part.Text != "" {
			texts++
		}
	}
	for i := range c.LLMMessage.Content {
		part := &c.LLMMessage.Content[i]
		part.Text = clip(part.Text, most/texts)
	}
	return &c
}
