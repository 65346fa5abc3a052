package codeact

import (
	"context"
	"slices"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/llm"
)

// history turns a view into messages and remembers the result: while the view only
// grows, a step converts only the new events.
type history struct {
	view   []event.Event // the part that is converted
	growth llm.Growth
	builder

	marked int           // where the mark stands in done, -1 for nowhere
	plain  event.Message // the message there without it
}

// lateMessage follows an answer during which a user message arrived.
const lateMessage = "A message of the user arrived while you were answering; it stands before your answer. Take it into account and go on."

// build returns the messages of a view, and a context that says which of them
// will not change (llm.Growth). They are valid until it is called again.
func (h *history) build(ctx context.Context, view []event.Event, info llm.Info) (context.Context, []event.Message) {
	if h.builder.open == nil || !extends(view, h.view) || h.builder.vision != info.Vision {
		h.view, h.marked = nil, -1
		h.builder = builder{vision: info.Vision, open: map[string]bool{}}
	}
	if h.marked >= 0 {
		h.done[h.marked] = h.plain
		h.marked = -1
	}
	for _, ev := range view[len(h.view):] {
		h.builder.add(ev)
	}
	h.view = view
	// Unfinished messages stand behind it, in the same array.
	msgs := append(h.done, h.waiting...)
	if n := len(msgs); n > 0 && msgs[n-1].Role == event.RoleAssistant && len(msgs[n-1].ToolCalls) == 0 {
		msgs = append(msgs, event.Message{Role: event.RoleUser, Content: event.Texts(lateMessage)})
	}
	h.done = msgs[:len(h.done)]
	// The last one may get more calls.
	fixed := len(h.done) - 1
	if at := lastShown(msgs); at >= 0 {
		if at < len(h.done) {
			h.marked, h.plain = at, msgs[at]
		}
		mark(&msgs[at])
		fixed = min(fixed, at)
	}
	return h.growth.Context(ctx, msgs, max(fixed, 0)), msgs
}

// extends reports whether view starts with all of old. A State's view grows at
// its end or is made anew, so one that lives in the same array needs no look
// at its events.
func extends(view, old []event.Event) bool {
	n := len(old)
	if n == 0 || n > len(view) {
		return n == 0
	}
	return &view[0] == &old[0] || slices.Equal(view[:n], old)
}

// lastShown finds the newest message that the model was shown, -1 for none.
func lastShown(msgs []event.Message) int {
	for i := len(msgs) - 1; i >= 0; i-- {
		if m := &msgs[i]; (m.Role == event.RoleUser || m.Role == event.RoleTool) && len(m.Content) > 0 {
			return i
		}
	}
	return -1
}

// mark asks for the prompt to be cached up to a message: the newest, so that
// the next call reads all of it from the cache (docs/openhands/sdk-features.md section 1).
func mark(m *event.Message) {
	m.Content = slices.Clone(m.Content)
	m.Content[len(m.Content)-1].CachePrompt = true
}

// builder converts events one after another. Providers want the results of a
// response's calls directly behind it; messages that came in between wait.
type builder struct {
	vision  bool
	done    []event.Message
	open    map[string]bool // calls without a result so far
	waiting []event.Message
	calling bool   // done ends with the calls of the response batch
	batch   string // its id; not every provider gives one
}

func (b *builder) add(ev event.Event) {
	switch e := ev.(type) {
	case *event.SystemPromptEvent:
		b.system(e)
	case *event.MessageEvent:
		b.message(e)
	case *event.ActionEvent:
		b.action(e)
	case *event.ObservationEvent:
		content := slices.Concat(render(e.Observation), []event.Content(e.ExtendedContent))
		b.result(e.ToolName, e.ToolCallID, content)
	case *event.UserRejectObservation:
		b.result(e.ToolName, e.ToolCallID, event.Texts("The call was refused: "+e.RejectionReason))
	case *event.AgentErrorEvent:
		b.result(e.ToolName, e.ToolCallID, event.Texts(e.Error))
	case *event.CondensationSummaryEvent:
		b.plain(event.Message{Role: event.RoleUser, Content: event.Texts(
			"What happened so far was left out here to save room. Notes about it:\n\n" + e.Summary)})
	}
}

func (b *builder) system(e *event.SystemPromptEvent) {
	static := e.SystemPrompt
	static.CachePrompt = true
	m := event.Message{Role: event.RoleSystem, Content: event.List[event.Content]{static}}
	if e.DynamicContext != nil {
		dynamic := *e.DynamicContext
		dynamic.CachePrompt = false
		m.Content = append(m.Content, dynamic)
	}
	b.done = append(b.done, m)
	b.calling = false
}

func (b *builder) message(e *event.MessageEvent) {
	m := e.LLMMessage
	if len(e.ExtendedContent) > 0 {
		m.Content = slices.Concat(m.Content, e.ExtendedContent)
	}
	if m.Role == event.RoleAssistant && len(m.Content) == 0 && len(m.ThinkingBlocks) == 0 {
		return // an empty answer; the next message says so
	}
	m.Content = b.visible(m.Content)
	b.plain(m)
}

func (b *builder) plain(m event.Message) {
	if len(b.open) > 0 {
		b.waiting = append(b.waiting, m)
		return
	}
	b.calling = false
	b.done = append(b.done, m)
}

func (b *builder) action(e *event.ActionEvent) {
	call := e.ToolCall
	call.ID = e.ToolCallID
	if e.ToolName != "" {
		call.Name = e.ToolName // the tool's own name, where the model used another product's
	}
	first := len(e.Thought) > 0 || len(e.ThinkingBlocks) > 0 || e.ReasoningContent != ""
	if b.calling && b.batch == e.LLMResponseID && (e.LLMResponseID != "" || !first) {
		last := &b.done[len(b.done)-1]
		last.ToolCalls = append(last.ToolCalls, call)
		b.open[e.ToolCallID] = true
		return
	}
	b.flush()
	b.done = append(b.done, event.Message{
		Role: event.RoleAssistant, Content: b.visible(e.Thought), ToolCalls: []event.ToolCall{call},
		ReasoningContent: e.ReasoningContent, ThinkingBlocks: e.ThinkingBlocks,
		ResponsesReasoningItem: e.ResponsesReasoningItem,
	})
	b.calling, b.batch = true, e.LLMResponseID
	b.open[e.ToolCallID] = true
}

func (b *builder) result(name, call string, content []event.Content) {
	if !b.open[call] {
		return // answered already, or its action is not in view
	}
	delete(b.open, call)
	b.done = append(b.done, event.Message{
		Role: event.RoleTool, Name: name, ToolCallID: call, Content: b.visible(content),
	})
	b.calling = false
	if len(b.open) == 0 {
		b.flush()
	}
}

// flush appends the messages that waited for results.
func (b *builder) flush() {
	clear(b.open)
	b.done = append(b.done, b.waiting...)
	b.waiting = nil
}

// visible returns content as this model sees it: without images if it has no
// vision, and without the cache marks of the event's writer.
func (b *builder) visible(content []event.Content) []event.Content {
	hidden := func(c event.Content) bool { return !b.vision && c.Type == event.TypeImage }
	if !slices.ContainsFunc(content, func(c event.Content) bool { return c.CachePrompt || hidden(c) }) {
		return content
	}
	out := make([]event.Content, 0, len(content))
	for _, c := range content {
		if hidden(c) {
			c = event.Text("[An image stands here. This model cannot see images.]")
		}
		c.CachePrompt = false
		out = append(out, c)
	}
	return out
}
