package build

import (
	"context"
	"errors"
	"fmt"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/session"
)

// WorkspaceInside implements [session.Builder]: the class of the sandbox says it.
func (b *Builder) WorkspaceInside(p session.Placement) (bool, error) {
	p = b.placement(p)
	class, err := b.o.Classes.Sandboxes.Find(p.SandboxClass)
	return err == nil && p.RuntimeClass != LocalRuntime && class.Inside != "", err
}

// readProject starts the sandbox before anything else is made, so that the agent can
// be told the instructions of the project in it. The runtime of the conversation
// finds the sandbox running.
func (b *Builder) readProject(ctx context.Context, r *session.BuildRequest, env []string, mark string) (err error) {
	newExecutors, err := b.o.Classes.Executor(r.ExecutorClass)
	if err != nil {
		return err
	}
	e, err := b.o.Classes.Runtimes[r.RuntimeClass](ctx, RuntimeConfig{
		EnvMark: mark, Builder: b, Request: *r, Grace: b.o.Grace, NewExecutors: newExecutors,
		Executors: ExecutorConfig{Workspace: r.Workspace, Env: env, Log: b.o.Log},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close(context.WithoutCancel(ctx), true)) }()
	files := e.Files()
	if files == nil {
		return fault.New(fault.Unsupported, "the runtime class "+r.RuntimeClass+" shows no files of the workspace inside the sandbox")
	}
	if err := r.Project(ctx, files, r); err != nil {
		return fmt.Errorf("read the project in the sandbox: %w", err)
	}
	return nil
}
