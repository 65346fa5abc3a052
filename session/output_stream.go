package session

import (
	"bytes"
	"unicode/utf8"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/session/internal/lockorder"
	"github.com/deft-dev/deft/session/internal/styledmask"
	"github.com/deft-dev/deft/tool"
)

// Output is a piece of a running action's output, without secrets. Its only escape sequences
// are whole ones of package sgr.
type Output struct {
	Action event.ID
	Text   string
	Cut    bool // the text has lost its beginning
}

// maxTail bounds the output of a running action that is kept, in bytes.
const maxTail = 64 << 10

// outputs are the outputs of the running actions. The end of each is kept for later watchers,
// until the action ends.
type outputs struct {
	mu      lockorder.Mutex[lockorder.Part]
	running map[event.ID]*output
}

type output struct {
	mask *styledmask.Mask
	tail []byte
	cut  bool
}

// output publishes a piece of the output of an action, masked.
func (p *publisher) output(action event.ID, chunk tool.Chunk) {
	p.outputs.mu.Lock()
	defer p.outputs.mu.Unlock()
	o := p.outputs.running[action]
	if o == nil {
		if p.outputs.running == nil {
			p.outputs.running = map[event.ID]*output{}
		}
		o = &output{mask: styledmask.New(p.c.secrets.Stream())}
		p.outputs.running[action] = o
	}
	p.piece(action, o, o.mask.Feed(chunk.Text))
}

// outputEnd publishes the withheld output of an action that has ended. It is called before the
// action's result is recorded.
func (p *publisher) outputEnd(action event.ID) {
	p.outputs.mu.Lock()
	defer p.outputs.mu.Unlock()
	if o := p.outputs.running[action]; o != nil {
		delete(p.outputs.running, action)
		p.piece(action, o, o.mask.Flush())
	}
}

func (p *publisher) piece(action event.ID, o *output, text string) {
	if text != "" {
		o.keep(text)
		p.hub.publish(Transient{Output: &Output{Action: action, Text: text}})
	}
}

// keep adds to the tail. When it is twice as long as it may be, it is cut, at a line
// if there is one: then no sequence is.
func (o *output) keep(text string) {
	o.tail = append(o.tail, text...)
	if len(o.tail) <= 2*maxTail {
		return
	}
	o.tail, o.cut = append(o.tail[:0], lineEnd(o.tail, maxTail)...), true
}

// lineEnd returns the last n bytes of a text, from a line or at least a character on.
func lineEnd(text []byte, n int) []byte {
	end := text[len(text)-n:]
	if _, rest, ok := bytes.Cut(end, []byte{'\n'}); ok && len(rest) > 0 {
		end = rest
	}
	for len(end) > 0 && !utf8.RuneStart(end[0]) {
		end = end[1:]
	}
	return end
}

// WatchOutput calls f for the output of running actions, beginning with the end of their
// output so far (at least 64 KiB of each, unless it was less). f must not block.
func (c *Conversation) WatchOutput(f func(Output)) (cancel func()) {
	c.publish.outputs.mu.Lock() // nothing is published between the two
	defer c.publish.outputs.mu.Unlock()
	for action, o := range c.publish.outputs.running {
		if len(o.tail) > 0 {
			f(Output{Action: action, Text: string(o.tail), Cut: o.cut})
		}
	}
	return c.Watch(func(t Transient) {
		if t.Output != nil {
			f(*t.Output)
		}
	})
}
