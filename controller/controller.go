// Package controller runs conversations: the AgentController. It owns one
// conversation, asks its Agent for the next step, appends the Agent's events to
// the EventStream, has the Runtime do the actions, and appends their results,
// until the task is finished, stopped, or out of its limits.
//
// # Usage
//
//	c, err := controller.Open(ctx, controller.Config{ID: id, Stream: s, Agent: a, …})
//	err = c.Send(ctx, event.NewUserMessage("fix the failing test"))
//	err = c.Run(ctx)            // until it ends; c.State().Status says how
//
// # Durability
//
// An action is in the stream, on disk, before it runs, and its observation
// before the next step. A process that dies leaves the conversation Running;
// a new Controller on the same stream goes on with Run: pending actions are
// requested again by their ids, and the Runtime recognizes those that ran. The
// events of one answer are appended together, or none of them, and the first
// actions only once the Runtime is there to remember them.
//
// # Concurrency
//
// Run is one goroutine for each running conversation. All methods may be
// called from any goroutine at any time; readers use [Controller.State],
// which never waits. Sending waits only for an append in progress, never for
// a step.
//
// # Failure
//
// The reason for the end of a run is in the stream: a ConversationErrorEvent that
// a person can read, then the status. Run returns an error of its own only if the
// stream or the context failed, or the conversation already runs (Conflict).
package controller

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/deft-dev/deft/agent"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/hook"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/runtime"
	"github.com/deft-dev/deft/state"
	"github.com/deft-dev/deft/tool"
)

// Defaults of Config.
const (
	DefaultMaxIterations = 500 // docs/openhands/sdk-features.md section 3
	DefaultParallel      = 8
)

// Config has the parts of a Controller. ID, Stream, Agent, Runtime and LLM are
// required.
type Config struct {
	ID     event.ConversationID
	Stream eventstream.Stream
	Agent  agent.Agent
	// Runtime runs actions in the sandbox; Local runs the actions of local tools, and
	// may be nil if the agent has none.
	Runtime runtime.Runtime
	Local   runtime.Runtime
	// LLM returns the model of a service (agent.UsageAgent …). Retries and
	// the spending limit are the model's own affair (llm/broker); a call that
	// it refuses with fault.Limit ends the run.
	LLM func(usage string) llm.Model
	// CountedAs returns the name under which the calls of a service are
	// counted in the metrics; nil for the service's own.
	CountedAs func(usage string) string
	// MaxIterations bounds the steps of one run; 0 takes the default.
	MaxIterations int
	// MaxCost limits the spending of the models, in US dollars; 0 for no limit. It is
	// recorded in the metrics, for people; the models enforce it.
	MaxCost float64
	// Parallel bounds the actions of one answer that run side by side.
	Parallel int
	// Review judges a batch of actions before it is stored: it returns the events to
	// store behind it, and whether the batch waits for the user. Nil lets everything
	// pass.
	Review func(ctx context.Context, batch []*event.ActionEvent) (notes []event.Event, wait bool)
	// BeforeActions is called before the actions of an answer begin, and told whether one
	// of them is for Runtime; not for those that an earlier process may have begun. Its
	// context ends when the run is stopped. Nil for not.
	BeforeActions func(ctx context.Context, batch []*event.ActionEvent, forRuntime bool)
	// Guard keeps secrets; nil where there are none.
	Guard Guard
	// Hooks run before and after actions, and when the agent comes to its end; nil for none.
	Hooks *hook.Runner
	// FollowUp returns the message with which the agent goes on after a call of finish that was
	// carried out, "" to end the run. iteration counts them from 1 since the user's last
	// message. Nil ends every run.
	FollowUp func(finish *event.ActionEvent, iteration int) string
	// Permit is called when a run begins; release gives the permit back. An error
	// refuses the run. Nil permits all.
	Permit func() (release func(), err error)
	Stuck  StuckThresholds
	// OnDelta and OnOutput take pieces that are shown but not stored: of the model's
	// answer and of a running action's output. They must not block for long. Nil for
	// none.
	OnDelta  func(item event.ID, d llm.Delta)
	OnOutput func(action event.ID, c tool.Chunk)
	// OnOutputEnd is called when an action gives no more output, before its
	// result is recorded. Nil for not.
	OnOutputEnd func(action event.ID)
	Log         *slog.Logger
}

// Guard keeps a conversation's secrets out of stored and shown events, and hands
// them to the actions that name them. It is safe for concurrent use.
type Guard interface {
	// Mask returns the event without secrets; it may change the one given.
	Mask(event.Event) event.Event
	// Restore returns a masked action as it runs. stored says that it was read from the
	// stream; the error is why it cannot run then.
	Restore(ctx context.Context, a event.Action, stored bool) (event.Action, error)
	// Secrets returns the secrets that an action may know, by name.
	Secrets(context.Context, event.Action) map[string]string
}

// Controller owns one conversation.
type Controller struct {
	cfg  Config
	snap atomic.Pointer[state.State]

	mu   sync.Mutex // guards the fields below; held during an append, never during a step
	fold *state.Fold
	// condensationAsked: the user, not the agent, wants the condensation that is requested.
	condensationAsked bool

	runMu sync.Mutex // guards run, failure and closed; taken after mu, and before the lock of a run
	run   *run       // nil while nothing runs
	// failure is the result of Failure.
	failure error
	// closed refuses further runs and events. Close sets it while it holds mu too.
	closed bool

	// toldUncondensed: the user knows that the history is not condensed; only the running goroutine
	// looks.
	toldUncondensed bool

	prepared   bool // the Runtime was; only the running goroutine looks
	newActions newActions
	// answered is the last message that the agent knew when it gave its last answer; only the
	// running goroutine looks.
	answered event.ID
}

// Open folds the conversation's events and returns its Controller. The
// conversation must exist in the stream. Nothing runs until Run.
func Open(ctx context.Context, cfg Config) (*Controller, error) {
	if cfg.Stream == nil || cfg.Agent == nil || cfg.Runtime == nil || cfg.LLM == nil {
		return nil, fault.New(fault.Invalid, "a controller needs a stream, an agent, a runtime and a model")
	}
	if cfg.MaxIterations <= 0 {
		cfg.MaxIterations = DefaultMaxIterations
	}
	if cfg.Parallel <= 0 {
		cfg.Parallel = DefaultParallel
	}
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	if cfg.OnDelta == nil {
		cfg.OnDelta = func(event.ID, llm.Delta) {}
	}
	if cfg.OnOutput == nil {
		cfg.OnOutput = func(event.ID, tool.Chunk) {}
	}
	if cfg.OnOutputEnd == nil {
		cfg.OnOutputEnd = func(event.ID) {}
	}
	cfg.Stuck = cfg.Stuck.withDefaults()
	c := &Controller{cfg: cfg}
	if err := c.refold(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// ID returns the conversation's id.
func (c *Controller) ID() event.ConversationID { return c.cfg.ID }

// State returns the present State. It never waits: who has seen an event in
// the stream may get a State from before it. See [Controller.Latest].
func (c *Controller) State() *state.State { return c.snap.Load() }

// Latest returns a State with all events of this Controller that are in the
// stream. It waits while some are being stored, so callbacks made during an append
// (Guard, Review, OnDelta) must not call it.
func (c *Controller) Latest() *state.State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.snap.Load()
}

// Has reports whether the conversation has an event.
func (c *Controller) Has(id event.ID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fold != nil && c.fold.Has(id)
}

// load reads one event again, for a HEAD move.
func (c *Controller) load(ctx context.Context, seq int64) (event.Event, error) {
	for rec, err := range c.cfg.Stream.Read(context.WithoutCancel(ctx), c.cfg.ID, eventstream.Seq(seq)) {
		if err != nil {
			return nil, err
		}
		return rec.Event()
	}
	return nil, fault.New(fault.Corrupt, fmt.Sprintf("event %d is missing", seq))
}
