package session

import (
	"bytes"
	"sync"
	"unicode/utf8"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/tool"
)

// Output is what a running action prints, without secrets. Its only escape sequences
// are whole ones of package sgr.
type Output struct {
	Action event.ID
	Text   string
	Cut    bool // the text has lost its beginning
}

// maxTail bounds what is kept of the output of a running action, in bytes.
const maxTail = 64 << 10

// outputs are those of the running actions. The end of each is kept for watchers
// that come later; it is gone with the action.
type outputs struct {
	mu      sync.Mutex
	running map[event.ID]*output
}

type output struct {
	mask styledMask
	tail []byte
	cut  bool
}

// printed takes a piece of the output of an action and publishes it, masked.
func (c *Conversation) printed(action event.ID, chunk tool.Chunk) {
	c.outputs.mu.Lock()
	defer c.outputs.mu.Unlock()
	o := c.outputs.running[action]
	if o == nil {
		if c.outputs.running == nil {
			c.outputs.running = map[event.ID]*output{}
		}
		o = &output{mask: styledMask{mask: c.secrets.Stream()}}
		c.outputs.running[action] = o
	}
	c.publishOutput(action, o, o.mask.feed(chunk.Text))
}

// printedAll publishes what was held back of an action that runs no more. It is called
// before the action's result is recorded.
func (c *Conversation) printedAll(action event.ID) {
	c.outputs.mu.Lock()
	defer c.outputs.mu.Unlock()
	if o := c.outputs.running[action]; o != nil {
		delete(c.outputs.running, action)
		c.publishOutput(action, o, o.mask.flush())
	}
}

func (c *Conversation) publishOutput(action event.ID, o *output, text string) {
	if text != "" {
		o.keep(text)
		c.hub.publish(Transient{Output: &Output{Action: action, Text: text}})
	}
}

// keep adds to the tail. When it is twice as long as it may be, it is cut, at a line
// if there is one: then no sequence is.
func (o *output) keep(text string) {
	o.tail = append(o.tail, text...)
	if len(o.tail) <= 2*maxTail {
		return
	}
	end := o.tail[len(o.tail)-maxTail:]
	if _, rest, ok := bytes.Cut(end, []byte{'\n'}); ok && len(rest) > 0 {
		end = rest
	}
	for len(end) > 0 && !utf8.RuneStart(end[0]) {
		end = end[1:]
	}
	o.tail, o.cut = append(o.tail[:0], end...), true
}

// WatchOutput calls f for what running actions print, beginning with the end of what
// they have printed so far (at least 64 KiB of each, unless it was less). f must not
// block.
func (c *Conversation) WatchOutput(f func(Output)) (cancel func()) {
	c.outputs.mu.Lock() // nothing is published between the two
	defer c.outputs.mu.Unlock()
	for action, o := range c.outputs.running {
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
