// Package sessiontest has resources with which tests make conversations without
// sandboxes.
//
// # Usage
//
//	func (f *fixture) Build(ctx context.Context, r session.BuildRequest) (session.Resources, error) {
//		return &sessiontest.Resources{An: agent, Runs: rt, Beside: rt}, nil
//	}
//
// # Concurrency and failure
//
// [Resources] are safe for concurrent use if their fields are not changed. Missing
// parts are an error of kind Unsupported.
package sessiontest

import (
	"context"

	"github.com/deft-dev/deft/critic"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/runtime"
	"github.com/deft-dev/deft/security"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/workspace"
)

// Resources are an agent and the runtimes of its actions. Closing them closes Runs.
type Resources struct {
	An           session.Agent
	Runs, Beside runtime.Runtime
	Inside       workspace.Files  // nil for a workspace on this machine
	Missing      []string         // warnings
	Raters       security.Clients // nil for none
	// Script runs the scripts of workflows.
	Script  func(ctx context.Context, script string, most int, do func(ctx context.Context, prompt, agent, description string) (string, error)) (string, error)
	Critics critic.Clients // nil for none
	// Share makes the resources of sub-agents; nil for none.
	Share func(context.Context, session.BuildRequest) (session.Resources, error)
}

var (
	_ session.Resources = (*Resources)(nil)
	_ session.Host      = (*Resources)(nil)

	_ session.AnalyzerClients = (*Resources)(nil)
	_ session.CriticClients   = (*Resources)(nil)
)

// Agent implements [session.Resources].
func (r *Resources) Agent() session.Agent { return r.An }

// Runtime implements [session.Place].
func (r *Resources) Runtime() runtime.Runtime { return r.Runs }

// Local implements [session.Resources].
func (r *Resources) Local() runtime.Runtime { return r.Beside }

// Warnings implements [session.Resources].
func (r *Resources) Warnings() []string { return r.Missing }

// RunScript implements [session.Scripter].
func (r *Resources) RunScript(ctx context.Context, script string, most int, do func(ctx context.Context, prompt, agent, description string) (string, error)) (string, error) {
	if r.Script == nil {
		return "", fault.New(fault.Unsupported, "there are no scripts")
	}
	return r.Script(ctx, script, most, do)
}

// AnalyzerClients implements [session.AnalyzerClients].
func (r *Resources) AnalyzerClients() security.Clients { return r.Raters }

// CriticClients implements [session.CriticClients].
func (r *Resources) CriticClients() critic.Clients { return r.Critics }

// RunProgram implements [session.Resources].
func (*Resources) RunProgram(context.Context, session.Program) (session.ProgramResult, error) {
	return session.ProgramResult{}, fault.New(fault.Unsupported, "there are no programs")
}

// Warm implements [session.Place].
func (*Resources) Warm(context.Context) error { return nil }

// Ready implements [session.Place].
func (*Resources) Ready(context.Context) error { return nil }

// Isolation implements [session.Place].
func (*Resources) Isolation() string { return "" }

// Files implements [session.Place].
func (r *Resources) Files() workspace.Files { return r.Inside }

// Terminals implements [session.Place].
func (*Resources) Terminals() tool.PTYs { return nil }

// Viewer implements [session.Place].
func (*Resources) Viewer() tool.Viewer { return nil }

// Guest implements [session.Host].
func (r *Resources) Guest(ctx context.Context, q session.BuildRequest) (session.Resources, error) {
	if r.Share == nil {
		return nil, fault.New(fault.Unsupported, "there are no sub-agents")
	}
	return r.Share(ctx, q)
}

// Close implements [session.Place].
func (r *Resources) Close(context.Context, bool) error { return r.Runs.Close() }
