package build

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/deft-dev/deft/executor"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/runtime"
	"github.com/deft-dev/deft/runtime/local"
	"github.com/deft-dev/deft/runtime/remote"
	"github.com/deft-dev/deft/runtime/sandboxed"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/process"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/terminal"
	"github.com/deft-dev/deft/workspace"
	"github.com/deft-dev/deft/workspace/link"
)

// newLocalRuntime runs all actions in this process.
func newLocalRuntime(_ context.Context, c RuntimeConfig) (*Execution, error) {
	execs, err := c.NewExecutors(c.Executors)
	if err != nil {
		return nil, fmt.Errorf("set up tools: %w", err)
	}
	offered := tool.OfferedBy(execs)
	rt, beside := local.New(executor.New(execs, executor.InMemory())), newBesideRuntime(c.Local)
	terminals := hostPTYs(c.Executors.Workspace, c.Executors.Env)
	return &Execution{
		Runtime: rt, Local: beside, Programs: HostPrograms(c.Executors.Workspace), Terminals: terminals, Warm: warmShell(execs, c.Tools), Isolation: func() string { return NoSandbox },
		Tools: func(context.Context) ([]tool.External, error) { return offered, nil },
		Close: func(context.Context, bool) error { return errors.Join(rt.Close(), beside.Close(), terminals.Close()) },
	}, nil
}

// warmShell starts the shell with the first run of an agent that has the
// terminal: nearly all use it, and a model takes longer to answer than a shell
// to start. Nil for an agent without.
func warmShell(execs map[string]tool.Executor, tools []*tool.Definition) func(context.Context) error {
	d := terminal.Definition()
	shell, ok := execs[d.ActionKind].(tool.Warmer)
	if ok && slices.ContainsFunc(tools, func(own *tool.Definition) bool { return own.Name == d.Name }) {
		return shell.Warm
	}
	return nil
}

// closeHooks is how long the close hooks of executors may take.
const closeHooks = 8 * time.Second

// stopTimeout bounds how long a sandbox may take to end: what it runs in may hang.
const stopTimeout = closeHooks + 30*time.Second

// askEnd bounds the question how a sandbox has ended.
const askEnd = 2 * time.Second

// newSandboxedRuntime runs actions in a sandbox of the conversation's own, which
// starts in the background.
func newSandboxedRuntime(ctx context.Context, c RuntimeConfig) (*Execution, error) {
	r := c.Request
	provider, err := c.Builder.Sandboxes(r.SandboxClass, r.Isolation)
	if err != nil {
		return nil, err
	}
	box, err := c.Builder.sandboxSpec(ctx, r, c.Executors.Env, c.EnvMark)
	if err != nil {
		return nil, err
	}
	var shutdown time.Duration
	if r.ExecutorClass != StandardExecutor {
		shutdown = closeHooks
	}
	var level atomic.Value
	level.Store("")
	options := sandboxed.Options{Provider: replacing{provider, r.CheckWorkspace}, Spec: box, Connect: connect}
	shared := options
	shared.Shutdown = shutdown
	shared.OnStart = func(s sandbox.Sandbox) { level.Store(s.Report().Level) }
	if r.SandboxEnded != nil {
		shared.OnEnd = func(s sandbox.Sandbox) { r.SandboxEnded(endOf(s)) }
	}
	w := sandboxed.Start(context.WithoutCancel(ctx), shared)
	rt := newBesideRuntime(c.Local)
	var programs tool.Starter
	if r.Isolation == process.LevelNone {
		programs = HostPrograms(box.Workspace)
	} else {
		programs = &ownSandboxes{shared: w, options: options, provider: provider}
	}
	var tools func(context.Context) ([]tool.External, error)
	if r.ExecutorClass != StandardExecutor { // asking waits for the sandbox
		tools = w.Tools
	}
	var files workspace.Files
	if sandbox.WorkspaceInside(provider) {
		files = link.New(box.Workspace, w)
	}
	e := &Execution{
		Runtime: w, Local: rt, Programs: programs, Terminals: w, Tools: tools, Files: files,
		Isolation: func() string { return level.Load().(string) },
		Ready: func(ctx context.Context) error {
			_, err := w.Ready(ctx)
			return err
		},
		Close: func(ctx context.Context, keep bool) error {
			if keep {
				return errors.Join(w.Close(), rt.Close())
			}
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
			defer cancel()
			return errors.Join(w.Stop(ctx), rt.Close())
		},
	}
	if r.SandboxClass == DockerSandbox { // others end by themselves after their grace
		e.InUse = w.InUse
		e.Pause = func(ctx context.Context) (func(context.Context) error, error) {
			stop, err := w.Pause(ctx)
			return stop, errors.Join(err, rt.Close())
		}
	}
	return e, nil
}

// endOf says how a sandbox has ended, as far as its provider tells in time.
func endOf(s sandbox.Sandbox) sandbox.Status {
	ctx, cancel := context.WithTimeout(context.Background(), askEnd)
	defer cancel()
	st, err := s.Status(ctx)
	if err != nil {
		st = sandbox.Status{ID: s.ID(), Reason: sandbox.Reason{Cause: sandbox.CauseUnknown}}
	}
	st.State = sandbox.Ended
	return st
}

// othersBeside returns the workspaces of others that a sandbox does not show: none
// where it sees no disk of this machine.
func (b *Builder) othersBeside(ctx context.Context, r session.BuildRequest, dir string) ([]string, error) {
	if inside, err := b.WorkspaceInside(r.Placement); err != nil || inside {
		return nil, err
	}
	var shown []string
	if b.o.OneUser {
		shown = slices.Concat(r.Readable, r.Writable, repositoryAround(dir))
	}
	return b.others.beside(ctx, dir, shown)
}

// sandboxSpec describes the sandbox of a conversation whose commands get env.
func (b *Builder) sandboxSpec(ctx context.Context, r session.BuildRequest, env []string, mark string) (sandbox.Spec, error) {
	o := b.o
	self, err := b.program()
	if err == nil && self == "" {
		self, err = os.Executable()
	}
	if err != nil {
		return sandbox.Spec{}, fmt.Errorf("find the program of the sandbox: %w", err)
	}
	dir, err := filepath.Abs(r.Workspace)
	if err != nil {
		return sandbox.Spec{}, fmt.Errorf("find the workspace: %w", err)
	}
	others, err := b.othersBeside(ctx, r, dir)
	if err != nil {
		return sandbox.Spec{}, err
	}
	box := sandbox.Spec{
		AlsoHidden: others,
		ID:         r.ID.Hex(), Workspace: dir, Readable: r.Readable, Writable: r.Writable, Limits: r.Limits, Network: r.Network, Env: env, EnvMark: mark, Container: r.Container,
		Argv: []string{
			self, "action-server", "--workspace", dir, "--grace", max(o.Grace, time.Second).String(),
			"--executor", r.ExecutorClass,
		},
	}
	for _, name := range r.SecretEnv {
		box.Argv = append(box.Argv, "--mask", name)
	}
	if r.Isolation != process.LevelNone {
		network, err := sandbox.ParseNetwork(string(r.Network))
		if err != nil {
			return sandbox.Spec{}, err
		}
		box.Argv = append(box.Argv, "--ignore-signals", "--net="+string(network))
	} else { // there /tmp is shared with everything else
		box.Argv = append(box.Argv, "--results", filepath.Join(o.SandboxDir, box.ID, "results"))
	}
	return box, nil
}

// connect makes the runtime that talks to a sandbox's action server.
func connect(s sandbox.Sandbox) (runtime.Runtime, error) {
	return remote.New(remote.Options{Dial: s.Dial})
}

// replacing is a provider that replaces a sandbox that was started with other
// settings, and starts none around another directory than the conversation's. Only
// the holder of the conversation's lock uses it.
type replacing struct {
	sandbox.Provider
	check func() error // nil for none
}

// Start implements [sandbox.Provider].
func (r replacing) Start(ctx context.Context, s sandbox.Spec) (sandbox.Sandbox, error) {
	if r.check != nil {
		if err := r.check(); err != nil {
			return nil, err
		}
	}
	box, err := r.Provider.Start(ctx, s)
	if !fault.Is(err, fault.Conflict) {
		return box, err
	}
	old, err := r.Get(ctx, s.ID)
	if err == nil {
		err = old.Stop(ctx)
	}
	if err != nil && !fault.Is(err, fault.NotFound) {
		return nil, fmt.Errorf("stop the sandbox with the old settings: %w", err)
	}
	return r.Provider.Start(ctx, s)
}
