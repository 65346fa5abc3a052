package memory

import (
	"slices"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/llm"
)

// Gauge estimates how many tokens a view takes, corrected by the provider's last
// count. While a view only grows, only its new events are read. The zero Gauge
// is ready to use; it belongs to one goroutine at a time.
type Gauge struct {
	// Beside is the estimated number of tokens of the rest of the prompt: the
	// tools.
	Beside int

	view   []event.Event
	sums   []int // of the events before each event, and of all
	model  string
	factor float64 // counted by estimated; 0 before the first answer
}

// The bounds of the correction, because some test servers count arbitrarily.
const leastFactor, mostFactor = 0.5, 2

// Prompt returns the tokens of a prompt that shows a view.
func (g *Gauge) Prompt(view []event.Event) int {
	return g.corrected(g.Beside + g.upTo(view, len(view)))
}

// Part returns the tokens of a part of a view.
func (g *Gauge) Part(view []event.Event, from, to int) int {
	return g.corrected(g.upTo(view, to) - g.upTo(view, from))
}

// Learn records the provider's token count for a prompt that showed a view. A
// count of 0 is ignored.
func (g *Gauge) Learn(model string, view []event.Event, counted int) {
	if g.model != model {
		g.model, g.factor = model, 0
	}
	if estimate := g.Beside + g.upTo(view, len(view)); counted > 0 && estimate > 0 {
		g.factor = min(max(float64(counted)/float64(estimate), leastFactor), mostFactor)
	}
}

func (g *Gauge) corrected(n int) int {
	if g.factor == 0 {
		return n
	}
	return int(float64(n) * g.factor)
}

// upTo returns the estimate of the first n events of a view.
func (g *Gauge) upTo(view []event.Event, n int) int {
	if len(g.view) == 0 || !extends(view, g.view) {
		g.sums = append(g.sums[:0], 0)
		g.view = nil
	}
	for _, ev := range view[len(g.view):] {
		g.sums = append(g.sums, g.sums[len(g.sums)-1]+estimate(ev))
	}
	g.view = view
	return g.sums[n]
}

// extends reports whether a view is an earlier one with more behind it. A State's
// view grows at its end or is made anew.
func extends(view, before []event.Event) bool {
	n := len(before)
	if n == 0 || n > len(view) {
		return n == 0
	}
	return &view[0] == &before[0] || slices.Equal(view[:n], before)
}

// estimate returns the tokens of an event as a model sees it.
func estimate(ev event.Event) int {
	m := event.Message{}
	switch e := ev.(type) {
	case *event.SystemPromptEvent:
		m.Content = append(m.Content, e.SystemPrompt)
		if e.DynamicContext != nil {
			m.Content = append(m.Content, *e.DynamicContext)
		}
	case *event.MessageEvent:
		extended := event.Message{Content: e.ExtendedContent}
		return llm.EstimateMessage(&e.LLMMessage) + llm.EstimateMessage(&extended)
	case *event.ActionEvent:
		m.Content, m.ReasoningContent, m.ThinkingBlocks = e.Thought, e.ReasoningContent, e.ThinkingBlocks
		m.ToolCalls = event.List[event.ToolCall]{e.ToolCall}
	case *event.ObservationEvent:
		m.Content = slices.Concat(e.Observation.Result().Content, e.ExtendedContent)
	default:
		m.Content = event.Texts(describe(ev))
	}
	return llm.EstimateMessage(&m)
}
