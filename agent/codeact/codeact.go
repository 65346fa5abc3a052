// Package codeact is the built-in agent: it shows the model the conversation
// and the tools, and turns the answer into events.
//
// # Usage
//
//	a, err := codeact.New(codeact.Config{Tools: tools, Condenser: memory.Summarizing{}, Prompt: p})
//
// # Concurrency
//
// An Agent serves one conversation and is used by one goroutine at a time; it
// caches the messages it built last, so that a step converts only new events.
//
// # Failure
//
// An invalid tool call is answered with an AgentErrorEvent, an empty or
// truncated answer and a call that was written as text and cannot be read with a
// message to the model, three times, and a prompt that does not fit
// with a CondensationRequest. Other errors of the LLM are returned, and one of
// kind fault.Context if a condensation was requested and nothing can be left
// out.
package codeact

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/deft-dev/deft/agent"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/memory"
	"github.com/deft-dev/deft/tool"
)

// Config configures an Agent. Tools is required.
type Config struct {
	Tools     *tool.Set
	Condenser memory.Condenser // nil, or one that forgets nothing: a prompt that does not fit ends the run
	Prompt    Prompt
	// ReportRisk copies the model's rating of its calls into the events.
	// Without an analyzer the wire contract requires UNKNOWN.
	ReportRisk bool
	// MaskArguments hides secrets in a call's arguments, for its description; nil hides none.
	MaskArguments func(arguments string) string
}

// Agent is the built-in agent.
type Agent struct {
	cfg      Config
	static   string
	tools    atomic.Pointer[offer]
	messages history
	fitting  fitting
	gauge    memory.Gauge
}

var (
	_ agent.Agent     = (*Agent)(nil)
	_ agent.Updatable = (*Agent)(nil)
)

// offer is the tools as the model gets them.
type offer struct {
	set    *tool.Set
	tools  []llm.Tool
	tokens int
}

// New returns an Agent for one conversation.
func New(cfg Config) (*Agent, error) {
	if cfg.Tools == nil {
		return nil, fault.New(fault.Invalid, "an agent needs tools")
	}
	a := &Agent{cfg: cfg, static: cfg.Prompt.static(cfg.Tools)}
	if err := a.SetTools(cfg.Tools); err != nil {
		return nil, err
	}
	return a, nil
}

// Tools implements [agent.Agent].
func (a *Agent) Tools() *tool.Set { return a.tools.Load().set }

// SetTools implements [agent.Updatable]. The system prompt stays.
func (a *Agent) SetTools(set *tool.Set) error {
	offers, err := set.Offered()
	if err != nil {
		return fmt.Errorf("offer tools: %w", err)
	}
	o := &offer{set: set}
	for _, t := range offers {
		o.tools = append(o.tools, llm.Tool(t))
	}
	o.tokens = llm.EstimateTokens(nil, o.tools)
	a.tools.Store(o)
	return nil
}

// Open implements [agent.Agent]: the system prompt.
func (a *Agent) Open() ([]event.Event, error) {
	ev := &event.SystemPromptEvent{
		Base:         event.NewBase(event.SourceAgent),
		SystemPrompt: event.Text(a.static),
		Tools:        a.Tools().Describe(),
	}
	if dyn := a.cfg.Prompt.dynamic(); dyn != "" {
		c := event.Text(dyn)
		ev.DynamicContext = &c
	}
	return []event.Event{ev}, nil
}

// Reopens implements [agent.Reopener]: an agent that plans and one that acts have different prompts.
func (a *Agent) Reopens(had *event.SystemPromptEvent) bool {
	planned := strings.Contains(had.SystemPrompt.Text, "\n<"+planStructure+">\n")
	return planned != a.cfg.Prompt.Planning && had.SystemPrompt.Text != a.static
}

// Step implements [agent.Agent].
func (a *Agent) Step(ctx context.Context, t agent.Turn) ([]event.Event, error) {
	m, tools := t.LLM(agent.UsageAgent), a.tools.Load()
	a.gauge.Beside = tools.tokens
	shown := a.show(t.State.View)
	view := a.fitting.view(shown, m.Info())
	if said := a.fitting.notice(shown); said != nil {
		return []event.Event{said}, nil
	}
	if done, err := a.condense(ctx, t, view, m.Info()); done != nil || err != nil {
		return done, err
	}
	item := event.NewID()
	ctx, msgs := a.messages.build(ctx, view, m.Info())
	resp, err := llm.Complete(ctx, m, llm.Request{
		Messages: msgs,
		Tools:    tools.tools,
		Session:  string(t.Session),
	}, func(d llm.Delta) { t.Delta(item, d) })
	if err != nil {
		return a.failed(err)
	}
	a.gauge.Learn(m.Info().Name, view, resp.Usage.Prompt)
	t.Delta(item, llm.Delta{}) // the answer is complete
	return a.answer(item, resp, tools, t.State.View)
}

// show returns a view as the model is shown it.
func (a *Agent) show(view []event.Event) []event.Event {
	if a.cfg.Condenser == nil {
		return view
	}
	return a.cfg.Condenser.Show(view)
}

// condense shortens the view where it has to be; nothing where it need not be.
func (a *Agent) condense(ctx context.Context, t agent.Turn, view []event.Event, info llm.Info) ([]event.Event, error) {
	c := a.cfg.Condenser
	if c == nil || !c.Forgets() {
		return nil, nil
	}
	shown := *t.State
	shown.View = view
	turn := memory.Turn{State: &shown, Tokens: &a.gauge, Window: info.ContextWindow, LLM: t.LLM, Session: t.Session, Failed: t.Uncondensed}
	if !t.State.CondensationRequested && !c.Needed(turn) {
		return nil, nil
	}
	done, err := c.Condense(ctx, turn)
	switch {
	case err != nil:
		return nil, err
	case done != nil:
		return []event.Event{done}, nil
	case t.State.CondensationRequested:
		return nil, fault.New(fault.Context, "the conversation does not fit the model's context window and nothing in it can be left out").
			Hint("use a model with a larger context window, or start a new conversation")
	}
	return nil, nil
}

// failed turns an LLM error that condensation can cure into its request.
func (a *Agent) failed(err error) ([]event.Event, error) {
	var e *llm.Error
	if c := a.cfg.Condenser; c != nil && c.Forgets() && errors.As(err, &e) && fault.KindOf(err) == fault.Context {
		return []event.Event{&event.CondensationRequest{Base: event.NewBase(event.SourceEnvironment)}}, nil
	}
	return nil, err
}
