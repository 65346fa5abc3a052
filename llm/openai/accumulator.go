package openai

import (
	"cmp"
	"crypto/rand"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/pieces"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/internal/exchange"
)

// accumulator assembles an answer, in time linear in its size, and delivers its
// pieces.
type accumulator struct {
	exchange.Deltas

	id, model, finish string
	text, reasoning   pieces.Text
	refusal           pieces.Text
	signed            signedReasoning
	tags              thinkTags
	calls             []*call
	byIndex           map[int]*call
	ids               exchange.CallIDs
	usage             *wireUsage
	choices           bool // at least one choice was seen
	size              int
}

type call struct {
	position int
	wireID   string // as sent, perhaps ""
	id, name string
	args     pieces.Text
}

func newAccumulator(onDelta func(llm.Delta)) *accumulator {
	return &accumulator{Deltas: exchange.To(onDelta)}
}

// add takes one chunk.
func (a *accumulator) add(c *chunk) error {
	a.id, a.model = cmp.Or(a.id, c.ID), cmp.Or(a.model, c.Model)
	if c.Usage != nil {
		a.usage = c.Usage
	}
	for i := range c.Choices {
		ch := &c.Choices[i]
		if ch.Index != 0 {
			continue // one answer was requested
		}
		a.choices = true
		if ch.Usage != nil && a.usage == nil {
			a.usage = ch.Usage
		}
		if err := a.addAnswer(&ch.Delta, false); err != nil {
			return err
		}
		if err := a.addAnswer(&ch.Message, true); err != nil {
			return err
		}
		a.finish = cmp.Or(ch.FinishReason, a.finish)
	}
	return nil
}

// addAnswer adds a piece of the answer, or the whole of it, in which each entry
// of tool_calls is a separate call.
func (a *accumulator) addAnswer(d *answer, whole bool) error {
	held := a.signed.add(d)
	reasoning := cmp.Or(string(d.ReasoningContent), d.Reasoning.text, held) + d.Content.reasoning
	inside, text := a.tags.feed(d.Content.text)
	reasoning += inside
	a.size += a.signed.added() + len(reasoning) + len(d.Content.text) + len(d.Refusal)
	a.emit(reasoning, text)
	if refusal := a.refusal.Add(string(d.Refusal)); refusal != "" {
		a.Emit(llm.Delta{Text: refusal})
	}
	if len(d.ToolCalls) > 0 {
		a.emit(a.tags.flush())
	}
	for i := range d.ToolCalls {
		a.addCall(&d.ToolCalls[i], whole)
	}
	if f := d.FunctionCall; f != nil && len(d.ToolCalls) == 0 {
		a.addCall(&callPiece{Index: new(int), Function: *f}, whole)
	}
	if a.size > exchange.MaxAnswer {
		return exchange.ErrTooLarge
	}
	return nil
}

// emit delivers reasoning and text.
func (a *accumulator) emit(reasoning, text string) {
	if reasoning = a.reasoning.Add(reasoning); reasoning != "" {
		a.Emit(llm.Delta{Reasoning: reasoning})
	}
	if text = a.text.Add(text); text != "" {
		a.Emit(llm.Delta{Text: text})
	}
}

// addCall adds a piece of a call, identified by its index. For servers that
// omit the index or always send 0, a name begins a new call if it comes with a new id
// or after complete arguments.
func (a *accumulator) addCall(p *callPiece, whole bool) {
	a.size += len(p.ID) + len(p.Function.Name) + len(p.Function.Arguments) + 64
	var c *call
	if !whole {
		if c = a.current(p); c.repeated(p) {
			return
		}
	}
	var d llm.ToolCallDelta
	if c == nil {
		c = a.open(p)
		d.ID, d.Name = c.id, c.name
	} else if c.name == "" && p.Function.Name != "" {
		c.name = p.Function.Name
		d.Name = c.name
	}
	d.Index, d.Arguments = c.position, c.args.Add(string(p.Function.Arguments))
	if d.ID != "" || d.Name != "" || d.Arguments != "" {
		a.Emit(llm.Delta{ToolCall: &d})
	}
}

// current returns the open call that a piece continues, or nil.
func (a *accumulator) current(p *callPiece) *call {
	var c *call
	switch {
	case p.Index != nil:
		c = a.byIndex[*p.Index]
	case len(a.calls) > 0:
		c = a.calls[len(a.calls)-1]
		if p.ID == "" && p.Function.Name != "" && c.name != "" {
			return nil // neither index nor id: a name begins a call
		}
	}
	if c == nil || p.Function.Name == "" || c.name == "" {
		return c
	}
	another := p.ID != "" && p.ID != c.wireID || p.Function.Name != c.name
	if another || p.Function.Arguments != "" && c.complete() && !c.repeated(p) {
		return nil
	}
	return c
}

// complete reports whether the arguments so far are a JSON object.
func (c *call) complete() bool {
	args := strings.TrimSpace(c.args.String())
	return strings.HasPrefix(args, "{") && gjson.Valid(args)
}

// repeated reports whether a piece says again what the call already has, as servers do
// that end a stream with whole calls.
func (c *call) repeated(p *callPiece) bool {
	return c != nil && p.ID != "" && p.ID == c.wireID && p.Function.Name == c.name &&
		p.Function.Arguments != "" && string(p.Function.Arguments) == c.args.String() && c.complete()
}

func (a *accumulator) open(p *callPiece) *call {
	if a.byIndex == nil {
		a.byIndex = map[int]*call{}
	}
	c := &call{position: len(a.calls), wireID: p.ID, name: p.Function.Name}
	id := p.ID
	if id == "" {
		id = "call_" + strings.ToLower(rand.Text()[:20])
	}
	c.id = a.ids.Unique(id)
	if p.Index != nil {
		a.byIndex[*p.Index] = c
	}
	a.calls = append(a.calls, c)
	return c
}

// empty reports whether the answer has no content.
func (a *accumulator) empty() bool {
	return len(a.calls) == 0 && a.refusal.Len() == 0 && a.reasoning.Len() == 0 && strings.TrimSpace(a.text.String()) == ""
}

func (a *accumulator) response() *llm.Response {
	msg := event.Message{
		Role: event.RoleAssistant, Content: event.Texts(a.text.String() + a.refusal.String()),
		ReasoningContent: a.reasoning.String(), ThinkingBlocks: a.signed.blocks(),
	}
	for _, c := range a.calls {
		args := c.args.String()
		if strings.TrimSpace(args) == "" {
			args = "{}"
		}
		msg.ToolCalls = append(msg.ToolCalls, event.ToolCall{ID: c.id, Name: c.name, Arguments: args, Origin: event.OriginCompletion})
	}
	return &llm.Response{ID: a.id, Model: a.model, Message: msg, Finish: a.finished(), Usage: a.usage.neutral()}
}

func (a *accumulator) finished() llm.Finish {
	switch {
	case a.finish == "length":
		return llm.FinishLength
	case a.finish == "content_filter" || a.refusal.Len() > 0:
		return llm.FinishContent
	case len(a.calls) > 0 || a.finish == "tool_calls" || a.finish == "function_call":
		return llm.FinishTools
	}
	return llm.FinishStop
}

func (u *wireUsage) neutral() llm.Usage {
	if u == nil {
		return llm.Usage{}
	}
	n := llm.Usage{
		Prompt: max(0, u.PromptTokens), Output: max(0, u.CompletionTokens),
		CacheRead: max(u.CachedTokens, u.CacheHitTokens), CacheWrite: max(0, u.CacheCreation),
	}
	if d := u.PromptDetails; d != nil {
		n.CacheRead, n.CacheWrite = max(n.CacheRead, d.CachedTokens), max(n.CacheWrite, d.CacheWriteTokens)
	}
	if d := u.CompletionDetails; d != nil {
		n.Reasoning = max(0, d.ReasoningTokens)
	}
	// Hostile or broken numbers must not make a negative cost.
	n.CacheRead = min(max(0, n.CacheRead), n.Prompt)
	n.CacheWrite = min(n.CacheWrite, n.Prompt-n.CacheRead)
	return n
}
