package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/deft-dev/deft/agent"
	"github.com/deft-dev/deft/agent/codeact"
	"github.com/deft-dev/deft/controller"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/executor"
	"github.com/deft-dev/deft/internal/workplace"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/broker"
	"github.com/deft-dev/deft/memory"
	"github.com/deft-dev/deft/runtime"
	"github.com/deft-dev/deft/runtime/local"
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
	model     llm.Model      // nil for a replay
	budget    *broker.Budget // of the model; nil for no limit
	effort    string
	replay    []event.Event // run this instead of asking a model
	limits    controller.Config
	onDelta   func(event.ID, llm.Delta)
	onOutput  func(event.ID, tool.Chunk)
	onSandbox func(sandbox.Sandbox)
	log       *slog.Logger
}

// session is a conversation with everything it works with.
type session struct {
	*controller.Controller
	place  *workplace.Place
	local  runtime.Runtime
	agent  *codeact.Agent
	replay *controller.Replay
}

// openSession starts the sandbox in the background and opens the
// conversation, which must exist in the stream.
func openSession(ctx context.Context, o sessionOptions) (*session, error) {
	place, err := startPlace(ctx, o)
	if err != nil {
		return nil, err
	}
	s := &session{place: place}
	if err := s.open(ctx, o); err != nil {
		return nil, errors.Join(err, place.Stop(ctx))
	}
	return s, nil
}

func (s *session) open(ctx context.Context, o sessionOptions) error {
	set, err := tool.NewSet(definitions(o.model)...)
	if err != nil {
		return fmt.Errorf("set up tools: %w", err)
	}
	s.agent, err = codeact.New(codeact.Config{
		Tools: set, Condenser: memory.Summarizing{}, ReasoningEffort: o.effort,
		Prompt: codeact.Prompt{RepoContext: repoContext(o.workspace), Now: time.Now()},
	})
	if err != nil {
		return fmt.Errorf("set up the agent: %w", err)
	}
	var a agent.Agent = s.agent
	if o.replay != nil {
		if s.replay, err = controller.NewReplay(o.replay, s.agent); err != nil {
			return err
		}
		a = s.replay
	}
	s.local = local.New(executor.New(localTools(s.tasks), executor.Volatile()))
	cfg := o.limits
	cfg.ID, cfg.Stream, cfg.Agent, cfg.Runtime, cfg.Local = o.id, o.stream, a, s.place, s.local
	cfg.LLM = func(string) llm.Model { return o.model }
	cfg.OnDelta, cfg.OnOutput, cfg.Log = o.onDelta, o.onOutput, o.log
	if s.Controller, err = controller.Open(ctx, cfg); err != nil {
		return err
	}
	if o.budget != nil { // what was spent before counts
		o.budget.Spend(s.State().Stats.Cost())
	}
	return nil
}

// tasks is the task tracker's list as the conversation has it.
func (s *session) tasks() []event.TaskItem { return s.State().Tasks }

// end lets go of the sandbox, or stops it.
func (s *session) end(ctx context.Context, stop bool) error {
	finish := func() error { return s.place.Close() }
	if stop {
		finish = func() error { return s.place.Stop(ctx) }
	}
	return errors.Join(finish(), s.local.Close())
}

// startPlace begins to start the sandbox with an action server in it.
func startPlace(ctx context.Context, o sessionOptions) (*workplace.Place, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the deft binary: %w", err)
	}
	prov, err := process.New(process.Options{Dir: o.paths.sandboxes(), Level: o.sandbox, Hidden: []string{o.paths.data}})
	if err != nil {
		return nil, err
	}
	spec := sandbox.Spec{
		ID: o.id.Hex(), Workspace: o.workspace, Network: o.network,
		Argv: []string{self, "action-server", "--workspace", o.workspace},
		Env:  commandEnv(os.Environ()),
	}
	return workplace.Start(ctx, workplace.Options{
		Provider: prov, Spec: spec, OnStart: o.onSandbox, Connect: connectRemote,
	}), nil
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
	Model   string `json:"model"`
	BaseURL string `json:"base_url,omitempty"`
	Sandbox string `json:"sandbox"`
	Network bool   `json:"network"`
}

func (r runSetup) encode() (json.RawMessage, error) { return json.Marshal(r) }
