package texttools

import (
	"bytes"
	"context"
	"slices"
	"sync"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/llm"
)

// maxKept is how many sessions' converted histories are kept.
const maxKept = 16

// conversions keeps the converted histories of the most recent sessions. The
// zero value is ready to use, and safe for concurrent use.
type conversions struct {
	mu    sync.Mutex
	kept  map[string]*conversion
	order []string // the latest used last
}

// take removes a session's conversion for exclusive use.
func (k *conversions) take(session string) *conversion {
	k.mu.Lock()
	defer k.mu.Unlock()
	c := k.kept[session]
	if c == nil {
		return &conversion{}
	}
	k.drop(session)
	return c
}

// put returns it after the call.
func (k *conversions) put(session string, c *conversion) {
	if session == "" || c.array == 0 {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.kept == nil {
		k.kept = map[string]*conversion{}
	}
	if k.kept[session] != nil { // of a concurrent call
		k.drop(session)
	}
	if len(k.order) >= maxKept {
		k.drop(k.order[0])
	}
	k.kept[session], k.order = c, append(k.order, session)
}

func (k *conversions) drop(session string) {
	delete(k.kept, session)
	k.order = slices.DeleteFunc(k.order, func(s string) bool { return s == session })
}

// conversion is a history as text. The converted fixed messages of a growing
// history (llm.Growth) are kept; the others follow them and are converted again
// with each call.
type conversion struct {
	out    []event.Message
	merged bool // the last message's content is out's own

	tools      []llm.Tool
	choice     string
	suffixText string // the suffix that describes them

	array  uint64 // of the messages that are kept; see llm.Fixed
	suffix string
	fixed  int // of the messages that are kept
	kept   int // of out, and how the last of it was
	last   event.Message
	own    bool
	growth llm.Growth
}

// convert is the function convert, continuing from the kept messages. It
// returns a context that declares the fixed part of the result. The result is
// valid until the next call.
func (c *conversion) convert(ctx context.Context, msgs []event.Message, suffix string) (context.Context, []event.Message) {
	array, fixed := llm.Fixed(ctx, msgs)
	if fixed == 0 {
		c.array = 0
		return ctx, convert(msgs, suffix)
	}
	if array != c.array || suffix != c.suffix || fixed < c.fixed {
		c.array, c.suffix, c.merged = array, suffix, false
		c.out = make([]event.Message, 0, len(msgs)+len(msgs)/4+4)
		rest := c.begin(msgs[:fixed], suffix)
		c.fixed = fixed - len(rest)
	} else {
		c.out = c.out[:c.kept]
		if c.kept > 0 {
			c.out[c.kept-1], c.merged = c.last, c.own
		}
	}
	c.add(msgs[c.fixed:fixed])
	c.fixed, c.kept, c.own = fixed, len(c.out), c.merged
	if c.kept > 0 {
		c.last = c.out[c.kept-1]
	}
	c.add(msgs[fixed:])
	return c.growth.Context(ctx, c.out, max(c.kept-1, 0)), c.out
}

// suffixOf is the function suffix, called only if the tools differ from the
// previous call's.
func (c *conversion) suffixOf(tools []llm.Tool, choice string) string {
	if c.suffixText == "" || choice != c.choice || !slices.EqualFunc(tools, c.tools, sameTool) {
		c.tools, c.choice, c.suffixText = slices.Clone(tools), choice, suffix(tools, choice)
		for i := range c.tools {
			c.tools[i].Parameters = slices.Clone(tools[i].Parameters)
		}
	}
	return c.suffixText
}

func sameTool(a, b llm.Tool) bool {
	return a.Name == b.Name && a.Description == b.Description && bytes.Equal(a.Parameters, b.Parameters)
}
