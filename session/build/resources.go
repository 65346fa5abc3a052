package build

import (
	"context"
	"errors"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/runtime"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/command"
)

// resources are a conversation's resources. They lend the runtime of actions, and the
// tools of executors and MCP servers, to sub-agents.
type resources struct {
	session.Place
	b     *Builder
	agent session.Agent
	local runtime.Runtime
	parts *parts
	lent  []*tool.Definition // of executors
	mcp   *mcpExecutor       // calls the tools of MCP servers; nil without any
}

var (
	_ session.Resources = (*resources)(nil)
	_ session.Host      = (*resources)(nil)
	_ session.Pauser    = pausable{}
)

// Agent implements [session.Resources].
func (r *resources) Agent() session.Agent { return r.agent }

// Local implements [session.Resources].
func (r *resources) Local() runtime.Runtime { return r.local }

// Warnings implements [session.Resources].
func (r *resources) Warnings() []string { return r.parts.warnings }

// RunProgram implements [session.Resources].
func (r *resources) RunProgram(ctx context.Context, p session.Program) (session.ProgramResult, error) {
	rt := r.Runtime()
	id := event.NewID()
	// It may have ended by itself.
	stop := context.AfterFunc(ctx, func() { _ = rt.Interrupt(context.WithoutCancel(ctx), id) })
	defer stop()
	obs, err := rt.Execute(ctx, tool.Request{Call: tool.Call{
		ID: id, Action: &command.Action{Argv: p.Argv, Dir: p.Dir, Seconds: p.Seconds},
	}})
	if err != nil {
		return session.ProgramResult{}, err
	}
	if k, ok := rt.(runtime.Acknowledger); ok {
		k.Ack(id)
	}
	got, ok := obs.(*command.Observation)
	if !ok || got.IsError {
		return session.ProgramResult{}, fault.New(fault.Unavailable, "run in the sandbox: "+event.JoinText(obs.Result().Content))
	}
	return session.ProgramResult{ExitCode: got.ExitCode, Stdout: got.Stdout, Stderr: got.Stderr}, nil
}

// release ends everything in this process. MCP servers end in order once nothing
// calls them, before their sandbox.
func (r *resources) release() error { return errors.Join(r.local.Close(), r.parts.close()) }

// Close implements [session.Place].
func (r *resources) Close(ctx context.Context, keep bool) error {
	return errors.Join(r.release(), r.Place.Close(ctx, keep))
}

// pausable are resources in a place that can be paused.
type pausable struct {
	*resources
	session.Pauser
}

// Pause implements [session.Pauser].
func (p pausable) Pause(ctx context.Context) (stop func(context.Context) error, err error) {
	err = p.release()
	stop, perr := p.Pauser.Pause(ctx)
	return stop, errors.Join(err, perr)
}
