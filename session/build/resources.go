package build

import (
	"cmp"
	"context"
	"errors"

	"github.com/deft-dev/deft/critic"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/hook"
	"github.com/deft-dev/deft/runtime"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/security"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/command"
	"github.com/deft-dev/deft/tool/workflow"
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
	// servers are the agent's MCP servers, and programs starts those of sub-agents.
	servers  *schema.Map
	programs func() tool.Starter
}

var (
	_ session.Resources       = (*resources)(nil)
	_ session.Host            = (*resources)(nil)
	_ session.Prompter        = (*resources)(nil)
	_ session.AnalyzerClients = (*resources)(nil)
	_ session.Scripter        = (*resources)(nil)
	_ session.CriticClients   = (*resources)(nil)
	_ session.Pauser          = pausable{}
)

// Agent implements [session.Resources].
func (r *resources) Agent() session.Agent { return r.agent }

// Local implements [session.Resources].
func (r *resources) Local() runtime.Runtime { return r.local }

// Warnings implements [session.Resources].
func (r *resources) Warnings() []string { return r.parts.warnings }

// AnalyzerClients implements [session.AnalyzerClients].
func (r *resources) AnalyzerClients() security.Clients { return r.b.raters }

// CriticClients implements [session.CriticClients].
func (r *resources) CriticClients() critic.Clients { return r.b.critics }

// RunScript implements [session.Scripter].
func (*resources) RunScript(ctx context.Context, script string, most int, do func(ctx context.Context, prompt, agent, description string) (string, error)) (string, error) {
	return workflow.Run(ctx, script, most, func(ctx context.Context, p workflow.Part) (string, error) {
		return do(ctx, p.Prompt, p.Agent, p.Description)
	})
}

// Prompt implements [session.Prompter].
func (r *resources) Prompt(ctx context.Context, message string) (string, error) {
	if set := r.mcp.connected(); set != nil {
		return set.Prompt(ctx, message)
	}
	return "", nil
}

// Prompts implements [session.Prompter].
func (r *resources) Prompts(ctx context.Context) (offers []session.PromptOffer, warnings []string) {
	set := r.mcp.connected()
	if set == nil {
		return nil, nil
	}
	found, left := set.Prompts(ctx)
	for _, o := range found {
		arguments := make([]session.PromptArgument, len(o.Arguments))
		for i, a := range o.Arguments {
			arguments[i] = session.PromptArgument(a)
		}
		offers = append(offers, session.PromptOffer{Command: o.Command, Server: o.Server, Description: o.Description, Arguments: arguments})
	}
	for _, w := range left {
		warnings = append(warnings, w.Error())
	}
	return offers, warnings
}

// RunProgram implements [session.Resources].
func (r *resources) RunProgram(ctx context.Context, p session.Program) (session.ProgramResult, error) {
	rt := r.Runtime()
	id := cmp.Or(p.ID, event.NewID())
	stop := context.AfterFunc(ctx, func() {
		if !p.Outlives || errors.Is(context.Cause(ctx), hook.ErrInterrupted) {
			_ = rt.Interrupt(context.WithoutCancel(ctx), id) // it may have ended by itself
		}
	})
	defer stop()
	obs, err := rt.Execute(ctx, tool.Request{Again: p.Again, Call: tool.Call{
		ID: id, Action: &command.Action{Argv: p.Argv, Dir: p.Dir, Seconds: p.Seconds, Stdin: p.Stdin, Env: p.Env},
	}})
	if err != nil {
		return session.ProgramResult{}, err
	}
	if k, ok := rt.(runtime.Acknowledger); ok && p.ID == "" {
		k.Ack(id)
	}
	got, ok := obs.(*command.Observation)
	if !ok || got.IsError {
		return session.ProgramResult{}, fault.New(fault.Unavailable, "run in the sandbox: "+event.JoinText(obs.Result().Content)).
			Because(session.ErrNotStarted)
	}
	return session.ProgramResult{ExitCode: got.ExitCode, Stdout: got.Stdout, Stderr: got.Stderr, TimedOut: got.TimedOut}, nil
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
