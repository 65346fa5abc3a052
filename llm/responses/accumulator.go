package responses

import (
	"cmp"
	"crypto/rand"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/pieces"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/internal/exchange"
)

// The kinds of items that are used; others belong to tools that are not
// requested.
const (
	kindMessage   = "message"
	kindReasoning = "reasoning"
	kindCall      = "function_call"
)

// accumulator assembles an answer, in time linear in its size, and delivers its
// pieces.
type accumulator struct {
	exchange.Deltas

	id, model, status, reason string
	ended, anyDone            bool
	text, reasoning           pieces.Text
	refused                   bool
	items                     []*item
	byID                      map[string]*item
	byIndex                   map[int]*item
	ids                       exchange.CallIDs // of calls
	calls                     int
	kept                      *event.ReasoningItem
	lost                      bool // a second reasoning item was seen
	usage                     *wireUsage
	size                      int
}

// item is one item of the output.
type item struct {
	kind      string
	delivered int // bytes of text, reasoning or arguments
	done      bool
	summary   int // index of the last part of the summary
	position  int // of a call
	wireID    string
	id, name  string
	unbound   bool // a call whose reasoning is not kept
	args      pieces.Text
}

func newAccumulator(onDelta func(llm.Delta)) *accumulator {
	return &accumulator{Deltas: exchange.To(onDelta), byID: map[string]*item{}, byIndex: map[int]*item{}}
}

// open returns the item of an event, created by its first event. Servers use
// ids differently, so a new id is matched by its index.
func (a *accumulator) open(id string, index int, kind string) *item {
	it := a.byID[id]
	if it == nil || id == "" {
		it = a.byIndex[index]
	}
	if it == nil || it.kind != kind {
		return a.fresh(id, index, kind)
	}
	if id != "" {
		a.byID[id] = it
	}
	return it
}

// fresh makes an item.
func (a *accumulator) fresh(id string, index int, kind string) *item {
	it := &item{kind: kind, wireID: id}
	a.items = append(a.items, it)
	a.byIndex[index] = it
	if id != "" {
		a.byID[id] = it
	}
	a.size += 64
	a.begin(it)
	return it
}

// begin writes the separator between two items of one kind.
func (a *accumulator) begin(it *item) {
	switch it.kind {
	case kindReasoning:
		if a.reasoning.Len() > 0 {
			a.addReasoning(it, "\n\n")
		}
	case kindMessage:
		if a.text.Len() > 0 {
			a.addText(it, "\n\n")
		}
	case kindCall:
		it.position, it.unbound = a.calls, a.lost
		a.calls++
	}
	it.delivered = 0
}

func (a *accumulator) addText(it *item, text string) {
	if text == "" {
		return
	}
	it.delivered += len(text)
	a.size += len(text)
	if text = a.text.Add(text); text != "" {
		a.Emit(llm.Delta{Text: text})
	}
}

func (a *accumulator) addReasoning(it *item, text string) {
	if text == "" {
		return
	}
	it.delivered += len(text)
	a.size += len(text)
	if text = a.reasoning.Add(text); text != "" {
		a.Emit(llm.Delta{Reasoning: text})
	}
}

// name opens a call with its id and name.
func (a *accumulator) name(it *item, w *wireItem) {
	if it.id != "" {
		return
	}
	id := cmp.Or(w.CallID, w.ID)
	if id == "" {
		id = "call_" + strings.ToLower(rand.Text()[:20])
	}
	it.id, it.name = a.ids.Unique(id), w.Name
	it.wireID = cmp.Or(w.ID, it.wireID)
	a.size += len(it.id) + len(it.name)
	a.Emit(llm.Delta{ToolCall: &llm.ToolCallDelta{Index: it.position, ID: it.id, Name: it.name}})
}

func (a *accumulator) addArguments(it *item, args string) {
	if args == "" {
		return
	}
	it.delivered += len(args)
	a.size += len(args)
	if args = it.args.Add(args); args != "" {
		a.Emit(llm.Delta{ToolCall: &llm.ToolCallDelta{Index: it.position, Arguments: args}})
	}
}

// finish adds an item in its final form: the parts that were not streamed are
// delivered now.
func (a *accumulator) finish(index int, w *wireItem) {
	if w.Type != kindMessage && w.Type != kindReasoning && w.Type != kindCall {
		return
	}
	it := a.open(w.ID, index, w.Type)
	if it.done {
		if it == a.byID[w.ID] && w.ID == it.wireID {
			return
		}
		it = a.fresh(w.ID, index, w.Type)
	}
	it.done, a.anyDone = true, true
	silent := it.delivered == 0
	switch w.Type {
	case kindCall:
		a.name(it, w)
		if silent {
			a.addArguments(it, string(w.Arguments))
		}
	case kindReasoning:
		a.finishReasoning(it, w, silent)
	default:
		for _, p := range w.Content {
			a.refused = a.refused || p.Refusal != ""
			if silent {
				a.addText(it, p.Text+p.Refusal)
			}
		}
	}
}

// finishReasoning keeps the first reasoning item to send back: a message of
// package event has one, and the items after it must follow it directly. Calls
// after another reasoning item are sent back without their ids.
func (a *accumulator) finishReasoning(it *item, w *wireItem, silent bool) {
	r := &event.ReasoningItem{ID: w.ID, EncryptedContent: w.EncryptedContent, Status: w.Status}
	for i, p := range w.Summary {
		r.Summary = append(r.Summary, p.Text)
		if silent {
			if i > 0 {
				a.addReasoning(it, "\n\n")
			}
			a.addReasoning(it, p.Text)
		}
	}
	for i, p := range w.Content {
		r.Content = append(r.Content, p.Text)
		if silent && len(w.Summary) == 0 {
			if i > 0 {
				a.addReasoning(it, "\n\n")
			}
			a.addReasoning(it, p.Text)
		}
	}
	if a.kept != nil {
		a.lost = true
		return
	}
	a.kept = r
	a.size += len(w.EncryptedContent)
}

// empty reports whether the answer has no content.
func (a *accumulator) empty() bool {
	return a.calls == 0 && !a.refused && a.reasoning.Len() == 0 && strings.TrimSpace(a.text.String()) == ""
}

func (a *accumulator) response() *llm.Response {
	msg := event.Message{
		Role: event.RoleAssistant, Content: event.Texts(a.text.String()),
		ReasoningContent: a.reasoning.String(), ResponsesReasoningItem: a.kept,
	}
	for _, it := range a.items {
		if it.kind != kindCall {
			continue
		}
		call := event.ToolCall{ID: it.id, Name: it.name, Arguments: it.args.String(), Origin: event.OriginResponses}
		if strings.TrimSpace(call.Arguments) == "" {
			call.Arguments = "{}"
		}
		if !it.unbound {
			call.ResponsesItemID = it.wireID
		}
		msg.ToolCalls = append(msg.ToolCalls, call)
	}
	return &llm.Response{ID: a.id, Model: a.model, Message: msg, Finish: a.finished(), Usage: a.usage.neutral()}
}

func (a *accumulator) finished() llm.Finish {
	switch {
	case a.refused || a.reason == "content_filter":
		return llm.FinishContent
	case a.status == "incomplete":
		return llm.FinishLength
	case a.calls > 0:
		return llm.FinishTools
	}
	return llm.FinishStop
}

func (u *wireUsage) neutral() llm.Usage {
	if u == nil {
		return llm.Usage{}
	}
	n := llm.Usage{Prompt: max(0, u.InputTokens), Output: max(0, u.OutputTokens)}
	if d := u.InputDetails; d != nil {
		n.CacheRead, n.CacheWrite = d.CachedTokens, d.CacheWriteTokens
	}
	if d := u.OutputDetails; d != nil {
		n.Reasoning = min(max(0, d.ReasoningTokens), n.Output)
	}
	// Hostile or broken numbers must not make a negative cost.
	n.CacheRead = min(max(0, n.CacheRead), n.Prompt)
	n.CacheWrite = min(max(0, n.CacheWrite), n.Prompt-n.CacheRead)
	return n
}
