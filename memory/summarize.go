package memory

import (
	"context"
	_ "embed"
	"fmt"
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

// Condense implements [Condenser]. It keeps the first events and a tail; when
// it was asked for (the prompt did not fit) the tail is half of what there
// is, otherwise half of MaxSize.
func (c Summarizing) Condense(ctx context.Context, s *state.State, m llm.Model, session event.ConversationID) (*event.Condensation, error) {
	c = c.withDefaults()
	from, to := c.span(s)
	if to <= from {
		return nil, nil
	}
	forgotten := s.View[from:to]
	if _, again := forgotten[0].(*event.CondensationSummaryEvent); again && len(forgotten) == 1 {
		return nil, nil // a summary of a summary gains nothing
	}
	limit := c.MaxEventChars
	for try := 0; ; try++ {
		resp, err := llm.Complete(ctx, m, c.request(forgotten, limit, session), nil)
		if err == nil {
			return condensation(forgotten, from, resp), nil
		}
		if !fault.Is(err, fault.Context) || try == retries {
			return nil, fmt.Errorf("summarise %d events: %w", len(forgotten), err)
		}
		limit /= 2
	}
}

// span returns the part of the view to forget, on atom borders.
func (c Summarizing) span(s *state.State) (from, to int) {
	n := len(s.View)
	tail := c.MaxSize/2 - c.KeepFirst - 1
	if s.CondensationRequested {
		tail = min(tail, n/2)
	}
	wantFrom, wantTo := min(c.KeepFirst, n), max(n-tail, 0)
	cuts := atoms(s.View)
	from, to = -1, -1
	for _, cut := range cuts {
		if from < 0 && cut >= wantFrom {
			from = cut
		}
		if cut <= wantTo {
			to = cut
		}
	}
	if s.CondensationRequested && to <= from && len(cuts) > 0 {
		// Nothing on the wanted borders: give up the tail rather than fail.
		to = cuts[len(cuts)-1]
	}
	if from < 0 {
		return 0, 0
	}
	return from, to
}

func (c Summarizing) request(forgotten []event.Event, limit int, session event.ConversationID) llm.Request {
	var b strings.Builder
	for _, ev := range forgotten {
		fmt.Fprintf(&b, "<EVENT kind=%q>\n%s\n</EVENT>\n", ev.Kind(), clip(describe(ev), limit))
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
		if _, prompt := ev.(*event.SystemPromptEvent); !prompt {
			c.ForgottenEventIDs = append(c.ForgottenEventIDs, ev.Meta().ID)
		}
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
