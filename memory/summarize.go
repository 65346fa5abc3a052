package memory

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
)

//go:embed summarize.md
var summarizePrompt string

// Summarizing forgets the middle of a view and lets a model write a summary in its
// place. Zero fields take the reference's defaults (docs/openhands/sdk-features.md
// section 4).
type Summarizing struct {
	// MaxSize is the number of events in a view beyond which it is condensed
	// without being asked; default 240.
	MaxSize int
	// MaxTokens is the number of tokens beyond which a view is condensed
	// without being asked, to half of it. The window of the agent's model holds
	// as well; 0 is for that alone.
	MaxTokens int
	// KeepFirst is how many events at the start are kept; default 2, negative
	// for the system prompt only, which always is.
	KeepFirst int
	// MinimumProgress is the least part of a view that is worth a summary;
	// default 0.1.
	MinimumProgress float64
	// MaxEventChars bounds the part of one event that the summarising model is shown;
	// default 10,000.
	MaxEventChars int
	// Retries is how often a summary is asked for with ever shorter events when even
	// the request to summarise does not fit; default 5. Scaling is the share of an
	// event that is kept each time; default 0.5.
	Retries int
	Scaling float64
	// Service is whose model writes the summary; default [Service].
	Service string
}

// minEventChars is the least that is shown of an event when the events do not
// fit the summarising model.
const minEventChars = 64

func (c Summarizing) withDefaults() Summarizing {
	if c.MaxSize <= 0 {
		c.MaxSize = 240
	}
	switch {
	case c.KeepFirst < 0:
		c.KeepFirst = 0
	case c.KeepFirst == 0:
		c.KeepFirst = 2
	}
	if c.MinimumProgress <= 0 {
		c.MinimumProgress = 0.1
	}
	if c.MaxEventChars <= 0 {
		c.MaxEventChars = 10_000
	}
	if c.Retries <= 0 {
		c.Retries = 5
	}
	if c.Scaling <= 0 || c.Scaling >= 1 {
		c.Scaling = 0.5
	}
	c.Service = cmp.Or(c.Service, Service)
	return c
}

// Needed implements [Condenser].
func (c Summarizing) Needed(t Turn) bool {
	c = c.withDefaults()
	return len(t.State.View) > c.MaxSize || c.over(t)
}

// Condense implements [Condenser]. It keeps the system prompt, the first events
// and a tail. If a condensation was requested (the prompt did not fit), the tail
// is at most half of the view, and empty if that gains too little. Each
// condensation leaves fewer events that are not summaries, so repeated requests
// end. If only the number of events requires a summary and the model fails to
// write it, the conversation continues without one
// (docs/openhands/sdk-features.md section 4).
func (c Summarizing) Condense(ctx context.Context, t Turn) (*event.Condensation, error) {
	c = c.withDefaults()
	over := c.over(t)
	from, to := c.span(t, over)
	if to <= from {
		return nil, nil
	}
	done, err := c.summary(ctx, t, from, to)
	if err != nil && ctx.Err() == nil && !over && !t.State.CondensationRequested {
		return nil, nil
	}
	return done, err
}

// summary lets the model write about a part of the view.
func (c Summarizing) summary(ctx context.Context, t Turn, from, to int) (*event.Condensation, error) {
	m, forgotten := t.LLM(c.Service), t.State.View[from:to]
	limit := c.MaxEventChars
	for try := 0; ; try++ {
		req := c.request(forgotten, limit, t.Session)
		for limit > minEventChars && tooLong(req, m.Info()) {
			limit /= 2
			req = c.request(forgotten, limit, t.Session)
		}
		resp, err := llm.Complete(ctx, m, req, nil)
		switch {
		case err == nil && strings.TrimSpace(event.JoinText(resp.Message.Content)) == "":
			err = llm.NewError(fault.Unavailable, m.Info().Provider, m.Info().Name, "the model wrote no summary", nil)
		case err == nil:
			return condensation(forgotten, from, resp), nil
		}
		if !fault.Is(err, fault.Context) || try == c.Retries {
			return nil, fmt.Errorf("summarise %d events: %w", len(forgotten), err)
		}
		limit = max(int(float64(limit)*c.Scaling), minEventChars)
	}
}

// tooLong reports whether a request certainly leaves no room for an answer.
func tooLong(r llm.Request, info llm.Info) bool {
	return info.ContextWindow > 0 && llm.EstimateTokens(r.Messages, nil) > info.ContextWindow*3/4
}

// inside escapes text that looks like the end of an event.
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
