package memory

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
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
	// Structured asks for a summary of named fields.
	Structured bool

	forgets
}

// leastProgress is the usual least part of a view that is worth it.
const leastProgress = 0.1

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
		c.MinimumProgress = leastProgress
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
func (c Summarizing) Needed(t Turn) bool { return c.withDefaults().room().needed(t) }

// room is how much of a view stays.
func (c Summarizing) room() room {
	return room{size: c.MaxSize, last: max(c.MaxSize/2-c.KeepFirst-1, 0), first: c.KeepFirst, tokens: c.MaxTokens, progress: c.MinimumProgress}
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
	over := c.room().over(t)
	from, to := c.room().span(t, over)
	if to <= from {
		return nil, nil
	}
	done, err := c.summary(ctx, t, from, to)
	if err != nil && ctx.Err() == nil && !over && !t.State.CondensationRequested {
		t.goOn(err)
		return nil, nil
	}
	return done, err
}

// summary lets the model write about a part of the view.
func (c Summarizing) summary(ctx context.Context, t Turn, from, to int) (*event.Condensation, error) {
	m, forgotten := t.LLM(c.Service), t.State.View[from:to]
	write := writeText
	if c.Structured {
		write = writeFields
	}
	var text, response string
	err := shrinking{c.MaxEventChars, c.Retries, c.Scaling}.ask(m, func(limit int) llm.Request {
		return c.request(forgotten, limit, t.Session)
	}, func(r llm.Request) (err error) {
		text, response, err = write(ctx, m, r)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("summarise %d events: %w", len(forgotten), err)
	}
	done := condensation(forgotten, response)
	done.Summary, done.SummaryOffset = &text, &from
	return done, nil
}

// writeText asks for a summary in the model's own words.
func writeText(ctx context.Context, m llm.Model, r llm.Request) (text, response string, err error) {
	resp, err := llm.Complete(ctx, m, r, nil)
	if err != nil {
		return "", "", err
	}
	if text = event.JoinText(resp.Message.Content); strings.TrimSpace(text) == "" {
		return "", "", noSummary(m)
	}
	return text, resp.ID, nil
}

func noSummary(m llm.Model) error {
	return llm.NewError(fault.Unavailable, m.Info().Provider, m.Info().Name, "the model wrote no summary", nil)
}

// shrinking asks a model about events, of which it shows ever less while the request does not fit.
type shrinking struct {
	limit   int // bytes of one event
	retries int
	scaling float64
}

func (s shrinking) ask(m llm.Model, request func(limit int) llm.Request, call func(llm.Request) error) error {
	for try := 0; ; try++ {
		r := request(s.limit)
		for s.limit > minEventChars && tooLong(r, m.Info()) {
			s.limit /= 2
			r = request(s.limit)
		}
		err := call(r)
		if err == nil || !fault.Is(err, fault.Context) || try == s.retries {
			return err
		}
		s.limit = max(int(float64(s.limit)*s.scaling), minEventChars)
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
	if c.Structured {
		return request(structuredPrompt, b.String(), session, stateSchema)
	}
	return request(summarizePrompt, b.String(), session, nil)
}

// request asks about events: instructions are the system message, events the user's
// (docs/openhands/sdk-features-1.58.md section 4).
func request(instructions, events string, session event.ConversationID, schema json.RawMessage) llm.Request {
	return llm.Request{
		Session: string(session), Schema: schema,
		Messages: []event.Message{
			{Role: event.RoleSystem, Content: event.Texts(instructions)},
			{Role: event.RoleUser, Content: event.Texts(events)},
		},
	}
}

func condensation(forgotten []event.Event, response string) *event.Condensation {
	c := &event.Condensation{Base: event.NewBase(event.SourceEnvironment), LLMResponseID: response}
	for _, ev := range forgotten {
		c.ForgottenEventIDs = append(c.ForgottenEventIDs, ev.Meta().ID)
	}
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
