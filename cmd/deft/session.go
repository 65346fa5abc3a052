package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/deft-dev/deft/agent"
	"github.com/deft-dev/deft/agent/codeact"
	"github.com/deft-dev/deft/controller"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/executor"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/broker"
	"github.com/deft-dev/deft/llm/registry"
	"github.com/deft-dev/deft/memory"
	"github.com/deft-dev/deft/runtime"
	"github.com/deft-dev/deft/runtime/local"
	"github.com/deft-dev/deft/runtime/sandboxed"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/process"
	"github.com/deft-dev/deft/tool"
)

// sessionOptions say what a session works with.
type sessionOptions struct {
	paths     paths
	stream    eventstream.Stream
	id        event.ConversationID
	workspace string
	sandbox   string // level of isolation
	network   bool
	grace     time.Duration      // how long the sandbox outlives the session
	models    *registry.Registry // by service; nil for a replay
	budget    *broker.Budget     // of all models; nil for no limit
	hidden    []string           // from commands, beside the data directory
	effort    string
	replay    []event.Event // run this instead of asking a model
	limits    controller.Config
	onDelta   func(event.ID, llm.Delta)
	onOutput  func(event.ID, tool.Chunk)
	// create makes the conversation, if it is new, while the sandbox starts.
	create    func(context.Context) error
	onSandbox func(sandbox.Sandbox)
	onCall    func(active bool) // around each call of the model
	onStep    func()            // before each step of the agent
	log       *slog.Logger
}

// session is a conversation with everything it works with.
type runSession struct {
	*controller.Controller
	boxes  *process.Provider
	place  *sandboxed.Runtime
	local  runtime.Runtime
	agent  agent.Agent // of a replay: the one that can go on after it
	replay *controller.Replay
}

// openSession starts the sandbox in the background and opens the
// conversation.
func openSession(ctx context.Context, o sessionOptions) (*runSession, error) {
	s := &runSession{}
	if err := s.startPlace(ctx, o); err != nil {
		return nil, err
	}
	err := o.create(ctx)
	if err == nil {
		err = s.open(ctx, o)
	}
	if err != nil {
		return nil, errors.Join(err, s.end(ctx, true))
	}
	return s, nil
}

func (s *runSession) open(ctx context.Context, o sessionOptions) error {
	var agentModel llm.Model
	if o.models != nil {
		agentModel = o.models.Model(registry.Agent)
	}
	set, err := tool.NewSet(definitions(agentModel)...)
	if err != nil {
		return fmt.Errorf("set up tools: %w", err)
	}
	act, err := codeact.New(codeact.Config{
		Tools: set, Condenser: memory.Summarizing{}, ReasoningEffort: o.effort,
		Prompt: codeact.Prompt{RepoContext: repoContext(o.workspace), Now: time.Now()},
	})
	if err != nil {
		return fmt.Errorf("set up the agent: %w", err)
	}
	s.agent = watched{act, o.onStep}
	a := s.agent
	if o.replay != nil {
		if s.replay, err = controller.NewReplay(o.replay, act); err != nil {
			return err
		}
		a = watched{s.replay, o.onStep}
	}
	s.local = local.New(executor.New(localTools(s.tasks), executor.Volatile()))
	cfg := o.limits
	cfg.ID, cfg.Stream, cfg.Agent, cfg.Runtime, cfg.Local = o.id, o.stream, a, s.place, s.local
	cfg.LLM = func(usage string) llm.Model { return announced{o.models.Model(usage), o.onCall} }
	cfg.OnDelta, cfg.OnOutput, cfg.Log = o.onDelta, o.onOutput, o.log
	if s.Controller, err = controller.Open(ctx, cfg); err != nil {
		return err
	}
	if o.budget != nil { // what was spent before counts
		o.budget.Spend(s.State().Stats.Cost())
	}
	return nil
}

// watched is an agent that says when a step begins.
type watched struct {
	agent.Agent
	before func()
}

// Step implements [agent.Agent].
func (w watched) Step(ctx context.Context, t agent.Turn) ([]event.Event, error) {
	w.before()
	return w.Agent.Step(ctx, t)
}

// announced is a model that says when it is being waited for.
type announced struct {
	llm.Model
	on func(active bool)
}

// Generate implements [llm.Model].
func (m announced) Generate(ctx context.Context, r llm.Request, onDelta func(llm.Delta)) (*llm.Response, error) {
	m.on(true)
	defer m.on(false)
	return m.Model.Generate(ctx, r, onDelta)
}

// tasks is the task tracker's list as the conversation has it.
func (s *runSession) tasks() []event.TaskItem { return s.State().Tasks }

// ready waits until the sandbox runs.
func (s *runSession) ready(ctx context.Context) error {
	_, err := s.place.Ready(ctx)
	return err
}

// end lets go of the sandbox, or stops it.
func (s *runSession) end(ctx context.Context, stop bool) error {
	finish := s.place.Close
	if stop {
		finish = func() error { return s.place.Stop(context.WithoutCancel(ctx)) }
	}
	err := errors.Join(finish(), s.boxes.Close())
	if s.local != nil {
		err = errors.Join(err, s.local.Close())
	}
	return err
}

// startPlace begins to start the sandbox with an action server in it.
func (s *runSession) startPlace(ctx context.Context, o sessionOptions) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the deft binary: %w", err)
	}
	s.boxes, err = process.New(process.Options{Dir: o.paths.sandboxes(), Level: o.sandbox, Hidden: append([]string{o.paths.data}, o.hidden...)})
	if err != nil {
		return err
	}
	spec := sandbox.Spec{
		ID: o.id.Hex(), Workspace: o.workspace, Network: o.network,
		Argv: []string{
			self, "action-server", "--workspace", o.workspace, "--grace", max(o.grace, time.Second).String(),
		},
		Env: commandEnv(os.Environ()),
	}
	if o.sandbox == process.LevelNone { // there /tmp is everyone's
		spec.Argv = append(spec.Argv, "--results", filepath.Join(o.paths.sandboxes(), spec.ID, "results"))
	}
	s.place = sandboxed.Start(ctx, sandboxed.Options{
		Provider: replacing{s.boxes}, Spec: spec, OnStart: o.onSandbox, Connect: connectRemote,
	})
	return nil
}

// replacing is a provider that puts a new sandbox in the place of one that
// was started with other flags. Only the conversation's owner uses it.
type replacing struct{ *process.Provider }

// Start implements [sandbox.Provider].
func (r replacing) Start(ctx context.Context, spec sandbox.Spec) (sandbox.Sandbox, error) {
	box, err := r.Provider.Start(ctx, spec)
	if !fault.Is(err, fault.Conflict) {
		return box, err
	}
	old, err := r.Get(ctx, spec.ID)
	if err == nil {
		err = old.Stop(ctx)
	}
	if err != nil && !fault.Is(err, fault.NotFound) {
		return nil, fmt.Errorf("stop the sandbox with the old flags: %w", err)
	}
	return r.Provider.Start(ctx, spec)
}

// describeSetup returns what a new conversation records about itself, so that
// it can be resumed and inspected.
func describeSetup(workspace, model string, maxIterations int) ([]event.Event, error) {
	var evs []event.Event
	for _, f := range []struct {
		key   string
		value any
	}{
		{"workspace", map[string]string{"working_dir": workspace, "kind": "LocalWorkspace"}},
		{"agent", map[string]any{"kind": "Agent", "llm": map[string]string{"model": model, "usage_id": agent.UsageAgent}}},
		{"max_iterations", maxIterations},
	} {
		ev, err := event.NewStateUpdate(f.key, f.value)
		if err != nil {
			return nil, fmt.Errorf("describe the conversation: %w", err)
		}
		evs = append(evs, ev)
	}
	return evs, nil
}

// runSetup is what `deft run` keeps about a conversation for resuming it.
type runSetup struct {
	modelSetup
	// Services are the profiles of services other than the agent, where flags
	// named them.
	Services map[string]string `json:"services,omitempty"`
	Sandbox  string            `json:"sandbox"`
	Network  bool              `json:"network"`
}

func (r runSetup) encode() (json.RawMessage, error) { return json.Marshal(r) }
