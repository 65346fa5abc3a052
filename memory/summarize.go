package memory

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/fault"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/state"
)

//go:embed summarize.md
var summarizePrompt string

// Summarizing forgets the middle of a view and lets a model write a summary
// in its place. Zero fields take the defaults, which are those of the
// reference (sdk-features.md section 4).
type Summarizing struct {
	// MaxSize is the number of events in a view beyond which it is condensed
	// without being asked; default 240.
	MaxSize int
	// KeepFirst is how many events at the start are always kept; default 2.
	KeepFirst int
	// MaxEventChars bounds what of one event the summarising model is shown;
	// default 10,000.
	MaxEventChars int
}

// minEventChars is the least that is shown of an event when the events do not
// fit the summarising model.
const minEventChars = 64

// retries is how often a summary is asked for with ever shorter events when
// even the request to summarise does not fit.
const retries = 5

func (c Summarizing) withDefaults() Summarizing {
	if c.MaxSize <= 0 {
		c.MaxSize = 240
	}
	if c.KeepFirst <= 0 {
		c.KeepFirst = 2
	}
	if c.MaxEventChars <= 0 {
		c.MaxEventChars = 10_000
	}
	return c
}

// Needed implements [Condenser].
func (c Summarizing) Needed(s *state.State) bool { return len(s.View) > c.withDefaults().MaxSize }

// Condense implements [Condenser]. It keeps the system prompt, the first
// events and a tail; when it was asked for (the prompt did not fit) the tail
// is at most half of what there is, and none at all if that gains too little.
// Each condensation leaves fewer events in view that are not summaries, so
// asking again comes to an end.
func (c Summarizing) Condense(ctx context.Context, s *state.State, m llm.Model, session event.ConversationID) (*event.Condensation, error) {
	c = c.withDefaults()
	from, to := c.span(s)
	if to <= from {
		return nil, nil
	}
	forgotten := s.View[from:to]
	limit := c.MaxEventChars
	for try := 0; ; try++ {
		req := c.request(forgotten, limit, session)
		for limit > minEventChars && tooLong(req, m.Info()) {
			limit /= 2
			req = c.request(forgotten, limit, session)
		}
		resp, err := llm.Complete(ctx, m, req, nil)
		switch {
		case err == nil && strings.TrimSpace(event.JoinText(resp.Message.Content)) == "":
			err = llm.NewError(fault.Unavailable, m.Info().Provider, m.Info().Name, "the model wrote no summary", nil)
		case err == nil:
			return condensation(forgotten, from, resp), nil
		}
		if !fault.Is(err, fault.Context) || try == retries {
			return nil, fmt.Errorf("summarise %d events: %w", len(forgotten), err)
		}
		limit = max(limit/2, minEventChars)
	}
}

// tooLong reports whether a request surely leaves a model no room to answer.
func tooLong(r llm.Request, info llm.Info) bool {
	return info.ContextWindow > 0 && llm.EstimateTokens(r.Messages, nil) > info.ContextWindow*3/4
}

// span returns the part of the view to forget, on atom borders; nothing if
// less than a tenth of the view could go, unless condensation was asked for.
func (c Summarizing) span(s *state.State) (from, to int) {
	n := len(s.View)
	tail := max(c.MaxSize/2-c.KeepFirst-1, 0)
	if s.CondensationRequested {
		tail = min(tail, n/2)
	}
	cuts := atoms(s.View)
	first := slices.IndexFunc(cuts, func(cut int) bool { return cut >= max(c.KeepFirst, prompts(s.View)) })
	if first < 0 {
		return 0, 0
	}
	from = cuts[first]
	for _, cut := range cuts[first:] {
		if cut <= n-tail {
			to = cut
		}
	}
	little := to-from < 2 || (to-from)*10 < n
	switch {
	case little && !s.CondensationRequested:
		return 0, 0
	case little:
		to = cuts[len(cuts)-1]
	}
	if !slices.ContainsFunc(s.View[from:to], notSummary) {
		return 0, 0 // a summary of summaries gains nothing
	}
	return from, to
}

func notSummary(ev event.Event) bool {
	_, is := ev.(*event.CondensationSummaryEvent)
	return !is
}

// prompts returns the length of the part of a view that ends with its last
// system prompt: a summary stands behind it (sdk-features-1.58.md section 4).
func prompts(view []event.Event) int {
	for i, ev := range slices.Backward(view) {
		if _, is := ev.(*event.SystemPromptEvent); is {
			return i + 1
		}
	}
	return 0
}

// inside keeps the text of an event from looking like its end.
var inside = strings.NewReplacer("<EVENT", "< EVENT", "</EVENT", "< /EVENT")

func (c Summarizing) request(forgotten []event.Event, limit int, session event.ConversationID) llm.Request {
	var b strings.Builder
	for _, ev := range forgotten {
		fmt.Fprintf(&b, "<EVENT kind=%q>\n%s\n</EVENT>\n", ev.Kind(), inside.Replace(clip(describe(ev), limit)))
	}
	return llm.Request{
		Session: string(session),
		Messages: []event.Message{
			{Role: event.RoleSystem, Content: event.Texts(summarizePrompt)},
			{Role: event.RoleUser, Content: event.Texts(b.String())},
		},
	}
}

func condensation(forgotten []event.Event, offset int, resp *llm.Response) *event.Condensation {
	c := &event.Condensation{
		Base: event.NewBase(event.SourceEnvironment), SummaryOffset: &offset, LLMResponseID: resp.ID,
	}
	for _, ev := range forgotten {
		c.ForgottenEventIDs = append(c.ForgottenEventIDs, ev.Meta().ID)
	}
	text := event.JoinText(resp.Message.Content)
	c.Summary = &text
	return c
}

// describe renders an event for the summarising model.
func describe(ev event.Event) string {
	switch e := ev.(type) {
	case *event.MessageEvent:
		return string(e.Source) + ": " + event.JoinText(e.LLMMessage.Content)
	case *event.ActionEvent:
		return event.JoinText(e.Thought) + "\ncalls " + e.ToolName + " " + e.ToolCall.Arguments
	case *event.ObservationEvent:
		return e.ToolName + " answers: " + event.JoinText(e.Observation.Result().Content)
	case *event.UserRejectObservation:
		return "the user refused " + e.ToolName + ": " + e.RejectionReason
	case *event.AgentErrorEvent:
		return e.ToolName + " failed: " + e.Error
	case *event.CondensationSummaryEvent:
		return "summary of what came before: " + e.Summary
	}
	return ""
}

// clip keeps the head and the tail of a text that is longer than limit bytes.
func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	head, tail := s[:limit/2], s[len(s)-limit/2:]
	return strings.ToValidUTF8(head, "") + "\n[…]\n" + strings.ToValidUTF8(tail, "")
}
