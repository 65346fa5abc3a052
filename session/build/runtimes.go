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
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/internal/realpath"
	"github.com/deft-dev/deft/runtime"
	"github.com/deft-dev/deft/runtime/local"
	"github.com/deft-dev/deft/runtime/remote"
	"github.com/deft-dev/deft/runtime/sandboxed"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/pty"
	"github.com/deft-dev/deft/tool/terminal"
	"github.com/deft-dev/deft/workspace"
	"github.com/deft-dev/deft/workspace/link"
)

// localExecution runs all actions in this process.
type localExecution struct {
	rt        *local.Runtime
	beside    *besideRuntime
	offered   []tool.External
	programs  tool.Starter
	terminals *pty.Host
	shell     tool.Warmer // nil for an agent without terminal
	viewer    tool.Viewer // nil if no tool shows anything
}

var _ Execution = (*localExecution)(nil)

func newLocalRuntime(_ context.Context, c RuntimeConfig) (Execution, error) {
	execs, err := c.NewExecutors(c.Executors)
	if err != nil {
		return nil, fmt.Errorf("set up tools: %w", err)
	}
	return &localExecution{
		rt: local.New(executor.New(execs, executor.InMemory())), beside: newBesideRuntime(c.Local), offered: tool.OfferedBy(execs),
		programs: HostPrograms(c.Executors.Workspace), terminals: hostPTYs(c.Executors.Workspace, c.Executors.Env), shell: shellOf(execs, c.Tools), viewer: tool.ViewerOf(execs),
	}, nil
}

// Runtime implements [session.Place].
func (e *localExecution) Runtime() runtime.Runtime { return e.rt }

// Local implements [Execution].
func (e *localExecution) Local() runtime.Runtime { return e.beside }

// Tools implements [Execution].
func (e *localExecution) Tools(context.Context) ([]tool.External, error) { return e.offered, nil }

// Programs implements [Execution].
func (e *localExecution) Programs() tool.Starter { return e.programs }

// Warm implements [session.Place]: it starts the shell, since nearly all agents use it and
// a model takes longer to answer than a shell to start.
func (e *localExecution) Warm(ctx context.Context) error {
	if e.shell == nil {
		return nil
	}
	return e.shell.Warm(ctx)
}

// Ready implements [session.Place].
func (*localExecution) Ready(context.Context) error { return nil }

// Isolation implements [session.Place].
func (*localExecution) Isolation() string { return sandbox.None.Name }

// Files implements [session.Place].
func (*localExecution) Files() workspace.Files { return nil }

// Terminals implements [session.Place].
func (e *localExecution) Terminals() tool.PTYs { return e.terminals }

// Viewer implements [session.Place].
func (e *localExecution) Viewer() tool.Viewer { return e.viewer }

// Close implements [session.Place].
func (e *localExecution) Close(context.Context, bool) error {
	return errors.Join(e.rt.Close(), e.beside.Close(), e.terminals.Close())
}

// shellOf returns the shell of an agent that has the terminal; nil for any other.
func shellOf(execs map[string]tool.Executor, tools []*tool.Definition) tool.Warmer {
	d := terminal.Definition()
	shell, ok := execs[d.ActionKind].(tool.Warmer)
	if ok && slices.ContainsFunc(tools, func(own *tool.Definition) bool { return own.Name == d.Name }) {
		return shell
	}
	return nil
}

// closeHooks is how long the close hooks of executors may take.
const closeHooks = 8 * time.Second

// stopTimeout bounds how long a sandbox may take to end: its engine may hang.
const stopTimeout = closeHooks + 30*time.Second

// askEnd bounds the question how a sandbox has ended.
const askEnd = 2 * time.Second

// sandboxedExecution runs actions in a sandbox of the conversation's own, which starts in
// the background.
type sandboxedExecution struct {
	box      *sandboxed.Runtime
	beside   *besideRuntime
	programs tool.Starter
	files    workspace.Files // nil unless the workspace is inside
	standard bool            // the executors bring no tools
	level    atomic.Value    // of isolation, a string
}

var (
	_ Execution      = (*sandboxedExecution)(nil)
	_ session.Pauser = pausableExecution{}
)

func newSandboxedRuntime(ctx context.Context, c RuntimeConfig) (Execution, error) {
	r := c.Request
	provider, err := c.Builder.Sandboxes(r.SandboxClass, r.Isolation)
	if err != nil {
		return nil, err
	}
	box, err := c.Builder.sandboxSpec(ctx, r, c.Executors.Env, c.EnvMark)
	if err != nil {
		return nil, err
	}
	e := &sandboxedExecution{beside: newBesideRuntime(c.Local), standard: r.ExecutorClass == StandardExecutor}
	e.level.Store("")
	options := sandboxed.Options{Provider: replacing{provider, r.CheckWorkspace}, Spec: box, Connect: connect}
	shared := options
	if !e.standard {
		shared.Shutdown = closeHooks
	}
	shared.OnStart = func(s sandbox.Sandbox) { e.level.Store(s.Report().Level) }
	if r.SandboxEnded != nil {
		shared.OnEnd = func(s sandbox.Sandbox) { r.SandboxEnded(endOf(s)) }
	}
	e.box = sandboxed.Start(context.WithoutCancel(ctx), shared)
	class := c.Builder.class(r.Placement)
	if class.Open(r.Isolation) {
		e.programs = HostPrograms(box.Workspace)
	} else {
		e.programs = &ownSandboxes{shared: e.box, options: options, provider: provider}
	}
	if class.Inside != "" {
		e.files = link.New(box.Workspace, e.box)
	}
	if class.PauseIdle {
		return pausableExecution{e}, nil
	}
	return e, nil
}

// Runtime implements [session.Place].
func (e *sandboxedExecution) Runtime() runtime.Runtime { return e.box }

// Local implements [Execution].
func (e *sandboxedExecution) Local() runtime.Runtime { return e.beside }

// Tools implements [Execution].
func (e *sandboxedExecution) Tools(ctx context.Context) ([]tool.External, error) {
	if e.standard { // asking would wait for the sandbox
		return nil, nil
	}
	return e.box.Tools(ctx)
}

// Programs implements [Execution].
func (e *sandboxedExecution) Programs() tool.Starter { return e.programs }

// Warm implements [session.Place]: the sandbox has begun to start.
func (*sandboxedExecution) Warm(context.Context) error { return nil }

// Ready implements [session.Place].
func (e *sandboxedExecution) Ready(ctx context.Context) error {
	_, err := e.box.Ready(ctx)
	return err
}

// Isolation implements [session.Place].
func (e *sandboxedExecution) Isolation() string { return e.level.Load().(string) }

// Files implements [session.Place].
func (e *sandboxedExecution) Files() workspace.Files { return e.files }

// Terminals implements [session.Place].
func (e *sandboxedExecution) Terminals() tool.PTYs { return e.box }

// Viewer implements [session.Place].
func (e *sandboxedExecution) Viewer() tool.Viewer { return e.box }

// Close implements [session.Place].
func (e *sandboxedExecution) Close(ctx context.Context, keep bool) error {
	if keep {
		return errors.Join(e.box.Close(), e.beside.Close())
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	return errors.Join(e.box.Stop(ctx), e.beside.Close())
}

// pausableExecution is one whose sandbox is paused while the conversation is idle.
type pausableExecution struct{ *sandboxedExecution }

// Pause implements [session.Pauser].
func (e pausableExecution) Pause(ctx context.Context) (stop func(context.Context) error, err error) {
	stop, err = e.box.Pause(ctx)
	return stop, errors.Join(err, e.beside.Close())
}

// InUse implements [session.Pauser].
func (e pausableExecution) InUse(ctx context.Context) bool { return e.box.InUse(ctx) }

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
		for _, m := range r.Container.Mounts {
			if filepath.IsAbs(m.Source) { // no volume
				shown = append(shown, realpath.Resolve(m.Source))
			}
		}
	}
	return b.others.beside(ctx, dir, shown)
}

// sandboxSpec describes the sandbox of a conversation whose commands get env.
func (b *Builder) sandboxSpec(ctx context.Context, r session.BuildRequest, env []string, mark string) (sandbox.Spec, error) {
	o := b.o
	self, _, err := b.program()
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
		ID:         r.ID.Hex(), Workspace: dir, Readable: b.readable(r), Writable: r.Writable, Limits: r.Limits, Network: r.Network, Env: env, EnvMark: mark, Container: r.Container,
		Argv: []string{
			self, "action-server", "--workspace", dir, "--grace", max(o.Grace, time.Second).String(),
			"--executor", r.ExecutorClass,
		},
	}
	for _, name := range r.SecretEnv {
		box.Argv = append(box.Argv, "--mask", name)
	}
	if !b.class(r.Placement).Open(r.Isolation) {
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

// readable are the directories that a sandbox shows beside the workspace: the user's
// grants, and for conversations of this machine's user the copies of his plugins.
func (b *Builder) readable(r session.BuildRequest) []string {
	class := b.class(r.Placement)
	if b.o.Plugins == "" || !class.Has(sandbox.FeatureGrants) || r.Owner != identity.LocalTenant && !(r.Owner == "" && b.o.OneUser) {
		return r.Readable
	}
	real, err := filepath.EvalSymlinks(b.o.Plugins)
	if err != nil { // there are none yet
		return r.Readable
	}
	return append(slices.Clip(r.Readable), real)
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
