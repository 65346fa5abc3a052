package acpagent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	acp "github.com/coder/acp-go-sdk"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/rawjson"
)

// Limits of a tool call in an event, in bytes: a text in it (as the reference), its title, and the
// whole of one field.
const (
	maxText  = 30_000
	maxTitle = 500
	maxField = 1 << 20
)

// maxDepth is how deep a value in an event may be nested: readers in other languages give up at some
// hundreds.
const maxDepth = 100

// callUpdate is news of a tool call of the program; fields without news are empty.
type callUpdate struct {
	ID        string                 `json:"toolCallId"`
	Title     *string                `json:"title"`
	Kind      *string                `json:"kind"`
	Status    *string                `json:"status"`
	RawInput  json.RawMessage        `json:"rawInput"`
	RawOutput json.RawMessage        `json:"rawOutput"`
	Content   []json.RawMessage      `json:"content"`
	Locations []acp.ToolCallLocation `json:"locations"`
}

// size is about how many bytes the news takes.
func (c *callUpdate) size() int {
	const itself = 256
	n := itself + len(c.ID) + len(text(c.Title)) + len(text(c.Kind)) + len(c.RawInput) + len(c.RawOutput)
	for _, block := range c.Content {
		n += len(block)
	}
	for _, at := range c.Locations {
		n += len(at.Path)
	}
	return n
}

// call is a tool call of the program as far as it is known.
type call struct {
	callUpdate
	told bool // its beginning
	over bool
}

func (c *callUpdate) merge(news *callUpdate) {
	set(&c.Title, news.Title)
	set(&c.Kind, news.Kind)
	set(&c.Status, news.Status)
	for _, f := range []struct{ to, from *json.RawMessage }{{&c.RawInput, &news.RawInput}, {&c.RawOutput, &news.RawOutput}} {
		if len(*f.from) > 0 && string(*f.from) != "null" {
			*f.to = *f.from
		}
	}
	if news.Content != nil {
		c.Content = news.Content
	}
	if news.Locations != nil {
		c.Locations = news.Locations
	}
}

func set(to **string, from *string) {
	if from != nil {
		*to = from
	}
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func (u *turn) find(id string) *call {
	for _, c := range u.calls {
		if c.ID == id {
			return c
		}
	}
	return nil
}

func terminal(status string) bool {
	return status == string(acp.ToolCallStatusCompleted) || status == string(acp.ToolCallStatusFailed)
}

// called takes news of a tool call. Its beginning and its end become events, as in the reference;
// the news between them would repeat all output so far.
func (u *turn) called(news *callUpdate) []event.Event {
	c := u.find(news.ID)
	if c == nil {
		c = &call{callUpdate: callUpdate{ID: news.ID}}
		u.calls = append(u.calls, c)
	} else {
		u.held -= c.size()
	}
	c.merge(news)
	if u.held += c.size(); u.held > maxOpen {
		u.p.overflow()
	}
	if c.over = terminal(text(c.Status)); c.over {
		u.held -= c.size()
		u.calls = slices.DeleteFunc(u.calls, func(other *call) bool { return other == c })
	}
	if c.told && !c.over {
		return nil
	}
	c.told = true
	return []event.Event{u.callEvent(c)}
}

// settle ends the calls of which the program has told no end.
func (u *turn) settle(as acp.ToolCallStatus) (evs []event.Event) {
	for _, c := range u.calls {
		status := string(as)
		c.Status, c.over = &status, true
		evs = append(evs, u.callEvent(c))
	}
	u.calls, u.held = nil, 0
	return evs
}

func (u *turn) callEvent(c *call) event.Event {
	a := u.p.a
	title := a.shortened(text(c.Title), maxTitle)
	if title == "" {
		title = "tool call"
	}
	ev := &event.ACPToolCallEvent{
		Base: event.NewBase(event.SourceAgent), ToolCallID: a.shortened(c.ID, maxTitle), Title: title, Status: a.word(c.Status), ToolKind: a.word(c.Kind),
		RawInput: a.bounded(c.RawInput), RawOutput: a.bounded(c.RawOutput), IsError: text(c.Status) == string(acp.ToolCallStatusFailed),
	}
	if blocks := u.content(c); len(blocks) > 0 {
		if raw, err := json.Marshal(blocks); err == nil {
			ev.Content = a.bounded(raw)
		}
	}
	return ev
}

// word is a word of the protocol, which may be one that is not known here.
func (a *Agent) word(s *string) *string {
	if s == nil {
		return nil
	}
	short := a.shortened(*s, maxTitle)
	return &short
}

// content returns the blocks of a call under the names that the reference stores, with the output of
// its terminals once it is over.
func (u *turn) content(c *call) (blocks []any) {
	for _, raw := range c.Content {
		var block map[string]any
		if json.Unmarshal(raw, &block) != nil {
			continue
		}
		id, _ := block["terminalId"].(string)
		blocks = append(blocks, u.p.a.renamed(block))
		if block["type"] == "terminal" && c.over {
			if output := u.p.terminals.text(id); output != "" {
				blocks = append(blocks, map[string]any{"type": "content", "content": map[string]any{"type": "text", "text": output}})
			}
		}
	}
	return blocks
}

// stored are the names of fields of content blocks in events.
var stored = map[string]string{"oldText": "old_text", "newText": "new_text", "terminalId": "terminal_id", "mimeType": "mime_type"}

func (a *Agent) renamed(block map[string]any) map[string]any {
	out := make(map[string]any, len(block))
	for name, v := range block {
		if inner, ok := v.(map[string]any); ok && name == "content" {
			v = a.renamed(inner)
		}
		if as, ok := stored[name]; ok {
			name = as
		}
		out[a.cfg.Mask(name)] = v // values are masked with the event
	}
	return out
}

// bounded returns a value whose texts are well-formed and not longer than an event may have them;
// nil for null.
func (a *Agent) bounded(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	raw = bytes.ToValidUTF8(rawjson.WellFormed(raw), []byte("\uFFFD"))
	if len(raw) <= maxText && depth(raw) <= maxDepth {
		return raw
	}
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return nil
	}
	out, err := json.Marshal(a.shortenedIn(v, 0))
	if err != nil || len(out) > maxField {
		out, _ = json.Marshal(fmt.Sprintf("(%d bytes, which are not kept)", len(raw))) // a text encodes
	}
	return out
}

// depth is how deep valid JSON is nested.
func depth(raw []byte) (deepest int) {
	at, quoted := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			at++
			deepest = max(deepest, at)
		case c == ']' || c == '}':
			at--
		}
	}
	return deepest
}

// shortenedIn shortens the texts in a value, and leaves out the parts below a depth. Images are kept
// or left out as a whole.
func (a *Agent) shortenedIn(v any, depth int) any {
	if depth > maxDepth {
		return "(too deep, and not kept)"
	}
	switch v := v.(type) {
	case string:
		return a.shortened(v, maxText)
	case []any:
		for i := range v {
			v[i] = a.shortenedIn(v[i], depth+1)
		}
	case map[string]any:
		for name, inner := range v {
			if data, ok := inner.(string); ok && name == "data" && len(data) <= maxField/2 {
				continue
			}
			v[name] = a.shortenedIn(inner, depth+1)
		}
	}
	return v
}

// shortened masks the secrets in a text while it is whole, and shortens it.
func (a *Agent) shortened(s string, most int) string { return shortened(a.cfg.Mask(s), most) }

// shortened leaves out the middle of a text that is longer than most bytes.
func shortened(s string, most int) string {
	if len(s) <= most {
		return s
	}
	head, tail := most*3/4, len(s)-most/4
	for head > 0 && !utf8.RuneStart(s[head]) {
		head--
	}
	for tail < len(s) && !utf8.RuneStart(s[tail]) {
		tail++
	}
	return strings.TrimRight(s[:head], "\n") + fmt.Sprintf("\n[… %d bytes left out …]\n", tail-head) + s[tail:]
}
