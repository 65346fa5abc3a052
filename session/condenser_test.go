package session_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/spec"
	"github.com/deft-dev/deft/state"
)

// agentWith is an agent with a condenser.
func agentWith(condenser string) string {
	return `"agent":{"kind":"Agent","llm":{"model":"openai/mock","usage_id":"agent"},"tools":[{"name":"terminal","params":{}}],"condenser":` + condenser + `}`
}

const (
	tokensOnly = `{"kind":"LLMSummarizingCondenser","llm":{"model":"openai/notes","usage_id":"condenser"},"max_tokens":1000}`
	manyTokens = `{"kind":"LLMSummarizingCondenser","llm":{"model":"openai/notes","usage_id":"condenser"},"max_tokens":100000}`
	fewEvents  = `{"kind":"LLMSummarizingCondenser","llm":{"model":"openai/events","usage_id":"other"},"max_size":8,"keep_first":0}`
)

// TestCondensers runs a conversation of one long result.
func TestCondensers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		condenser string
		want      string // the LLM that summarised, if any
	}{
		"too many tokens":         {tokensOnly, "openai/notes"},
		"fewer tokens":            {manyTokens, ""},
		"no-op":                   {`{"kind":"NoOpCondenser"}`, ""},
		"none":                    {`null`, ""},
		"a pipeline":              {`{"kind":"PipelineCondenser","condensers":[{"kind":"NoOpCondenser"},` + tokensOnly + `]}`, "openai/notes"},
		"the newest events":       {`{"kind":"RecentEventsCondenser","max_events":6}`, "nobody"},
		"half of the events":      {`{"kind":"AmortizedForgettingCondenser","max_size":6,"keep_first":1}`, "nobody"},
		"masks":                   {`{"kind":"ObservationMaskingCondenser","attention_window":1}`, ""},
		"a structured summary":    {`{"kind":"StructuredSummaryCondenser","llm":{"model":"openai/events","usage_id":"other"},"max_size":8}`, "openai/events"},
		"the second of two in it": {`{"kind":"PipelineCondenser","condensers":[` + manyTokens + `,` + fewEvents + `]}`, "openai/events"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := setup(t, inTurn(shell(strings.Repeat("abcdefg", 1000)), shell("b"), shell("c"), shell("d"), says("done")), nil)
			var served []string
			for _, name := range []string{"openai/notes", "openai/events"} {
				h.models[name] = &model{name: name, answer: func(context.Context, llm.Request) (*llm.Response, error) {
					served = append(served, name)
					return says(`{"user_context":"notes","pending_tasks":""}`), nil
				}}
			}
			conv := h.begin(t, agentWith(c.condenser))
			send(t, conv, "go")
			settle(t, conv)
			if s := status(t, conv); s != "finished" {
				t.Errorf("status %s", s)
			}
			if got := len(served) > 0; got != (c.want != "" && c.want != "nobody") || got && served[0] != c.want {
				t.Errorf("%q summarised, want %q", served, c.want)
			}
			if got := slices.Contains(h.kinds(t, conv.ID()), "Condensation"); got != (c.want != "") {
				t.Errorf("condensed %v: %q", got, h.kinds(t, conv.ID()))
			}
		})
	}
}

// TestNothingToCondenseWith gives the reason in the reference's words.
func TestNothingToCondenseWith(t *testing.T) {
	t.Parallel()
	h := setup(t, inTurn(), nil)
	for condenser, want := range map[string]string{
		`null`:                              "No condenser configured",
		`{"kind":"BrowserOutputCondenser"}`: "Condenser BrowserOutputCondenser does not handle condensation requests",
		`{"kind":"NoOpCondenser"}`:          "Condenser NoOpCondenser does not handle condensation requests",
		`{"kind":"PipelineCondenser","condensers":[{"kind":"NoOpCondenser"}]}`: "Condenser PipelineCondenser does not handle condensation requests",
	} {
		c := h.begin(t, agentWith(condenser))
		if err := c.Condense(t.Context()); !fault.Is(err, fault.Conflict) || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v", condenser, err)
		}
	}
}

// TestCondensationGoesOnAlone asks for a summary and leaves before it is written, with a
// message: the summary is made, and then the message is answered.
func TestCondensationGoesOnAlone(t *testing.T) {
	t.Parallel()
	h := setup(t, inTurn(says("hello"), says("hello"), says("hello"), finished("at last")), nil)
	asked, write := make(chan struct{}), make(chan struct{})
	h.models["openai/notes"] = &model{name: "openai/notes", answer: func(context.Context, llm.Request) (*llm.Response, error) {
		close(asked)
		<-write
		return says("notes"), nil
	}}
	c := h.begin(t, agentWith(manyTokens))
	for range 3 {
		send(t, c, "go")
		settle(t, c)
	}
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() { left <- c.Condense(ctx) }()
	<-asked
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("left: %v", err)
	}
	send(t, c, "meanwhile") // and does not wait
	close(write)
	settle(t, c)
	if got := status(t, c); got != string(state.Finished) {
		t.Errorf("status %s", got)
	}
	kinds := h.kinds(t, c.ID())
	if !slices.Contains(kinds, "Condensation") || h.model.calls() != 4 {
		t.Errorf("%d calls of the agent's model: %q", h.model.calls(), kinds)
	}
}

// TestCondenserIsSwitchedToo condenses with the LLM that was switched to.
func TestCondenserIsSwitchedToo(t *testing.T) {
	t.Parallel()
	h := setup(t, inTurn(says("hello")), nil)
	other := &model{name: "openai/other", answer: inTurn(says("notes"))}
	h.models["openai/other"] = other
	c := h.begin(t, agentWith(`{"kind":"LLMSummarizingCondenser","llm":{"model":"openai/mock","usage_id":"condenser"}}`))
	send(t, c, "go")
	settle(t, c)
	must.Succeed(t, c.Send(t.Context(), session.Message{Role: event.RoleUser, Content: event.Texts("more")}))
	must.Succeed(t, c.SwitchLLM(t.Context(), spec.NewLLM("openai/other")))
	must.Succeed(t, c.Condense(t.Context()))
	if !slices.Contains(h.kinds(t, c.ID()), "Condensation") {
		t.Errorf("%q", h.kinds(t, c.ID()))
	}
}
