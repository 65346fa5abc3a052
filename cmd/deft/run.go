package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/deft-dev/deft/cli/console"
	"github.com/deft-dev/deft/cli/conversations"
	"github.com/deft-dev/deft/cli/runcommand"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream/openhands"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/portforward"
	"github.com/deft-dev/deft/internal/workspacedir"
	"github.com/deft-dev/deft/llm/catalog"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/image"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/security"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/session/build"
)

// Run works on the task until it ends.
func (c *runCmd) Run(ctx context.Context, std *streams, g *globalFlags) error {
	p, err := findPaths(g.Data, std.Env)
	if err != nil {
		return err
	}
	src := runcommand.TaskSource{Words: c.Task, File: c.File, Input: std.In, Piped: std.InPiped, Tell: func(s string) { fmt.Fprintln(std.Err, "note: "+s) }, Attach: c.Attach, Optional: c.Resume != "" || c.Replay != ""}
	if std.InTTY {
		src.Input = nil
	}
	if c.task, err = src.Read(); err != nil {
		return err
	}
	var ignored []string
	chosen, err := sandboxClasses().Choice(c.Sandbox)
	if err == nil {
		ignored, err = c.dropLimits(chosen)
	}
	if err != nil {
		return err
	}
	if err := errors.Join(c.check(), c.checkRuntimeAPI(c.Sandbox, std.Env), runcommand.CheckNetwork(ctx, c.Net, net.DefaultResolver.LookupHost)); err != nil {
		return err
	}
	// A reader that goes away must not stop the agent half way.
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	defer signal.Stop(pipe)
	go catalog.Default() // it takes a millisecond or two, as the store does
	store, err := openStore(ctx, p)
	if err != nil {
		return err
	}
	defer store.Close()
	r := newForeground(std, p, store, newView(c, std, g))
	warnSandbox(r.view, chosen.Class, ignored)
	r.sandbox, r.network, r.grace, r.keep, r.api = c.Sandbox, c.Net, c.Grace, c.Keep, c.runtimeAPIFlags
	r.checkpoints = session.CheckpointTimes(c.Checkpoints)
	r.limits = sandbox.Limits{MemoryBytes: int64(c.Memory), PIDs: c.Pids, CPUs: c.CPUs}
	r.container = sandbox.Container{Image: c.Image, Pull: c.Pull, Runtime: c.OCIRuntime, ReadOnly: c.ReadOnly, GPUs: c.GPUs, ExtraHosts: c.AddHost, DiskBytes: int64(c.Disk)}
	if c.Dockerfile+c.ExtraDeps != "" {
		if r.container, err = c.buildImage(ctx, std, p, r.container); err != nil {
			return err
		}
	}
	if r.executor, err = build.AbsoluteExecutor(c.Executor); err != nil {
		return err
	}
	rules := workspacedir.Rules{Home: std.Env("HOME"), Data: append(userDirs(std.Env), p.data)}
	if r.read, err = rules.Granted("--read", c.Read); err != nil {
		return err
	}
	if r.write, err = rules.Granted("--write", c.Write); err != nil {
		return err
	}
	grant := func(dir string) (string, error) { return rules.Grant("--mount", dir) }
	if r.container.Mounts, err = sandbox.GrantMounts(c.Mount, grant); err != nil {
		return err
	}
	o, err := c.options(ctx, r)
	if err != nil {
		return err
	}
	if r.published, err = portforward.Listen(ctx, c.Publish); err != nil {
		return err
	}
	return r.run(ctx, o)
}

// warnSandbox passes on the warning of a class, and names variables that have no effect.
func warnSandbox(view *runcommand.View, class sandbox.Class, ignored []string) {
	if class.Warning != "" {
		view.Warn(class.Warning)
	}
	if len(ignored) > 0 {
		view.Warn("no effect on " + class.Noun + ", whose own settings decide: " + strings.Join(ignored, ", "))
	}
}

// options makes the options of a run from the flags. A new conversation, with its
// models, is checked here, before anything is stored.
func (c *runCmd) options(ctx context.Context, r *foreground) (o runcommand.Options, err error) {
	o = runcommand.Options{Task: c.task, Confirm: security.Preset(c.Confirm), ReplayFrom: c.ReplayFrom}
	if c.Replay != "" {
		defer func() { // mistakes in other flags are reported first
			if err == nil {
				o.Replay, err = readTrajectory(c.Replay)
			}
		}()
	}
	if r.std.InTTY && (r.std.ErrTTY || r.std.OutTTY) {
		o.Prompter = runcommand.NewPrompter(r.std.In, r.view.Prompts())
	}
	if c.Export != "" {
		o.Done = func(ctx context.Context) error { return openhands.WriteTrajectory(ctx, r.store, o.ID, c.Export) }
	}
	env, allOf, err := c.environment(r.std)
	if err != nil {
		return o, err
	}
	o.Secrets, r.env, r.secretEnv = env.Secrets, env.Plain, allOf
	if c.Resume == "" {
		o.ID = event.NewConversationID()
		s, err := c.spec(ctx, r, o, "")
		o.Spec = func() (session.Spec, error) { return s, err }
		return o, err
	}
	if o.ID, err = conversations.ResolveIn(ctx, r.store, c.Resume, first(c.Workspace, ".")); err != nil {
		return o, err
	}
	info, err := r.store.Info(ctx, o.ID)
	if err != nil {
		return o, err
	}
	o.Resume = true
	o.Spec = func() (session.Spec, error) { return c.spec(ctx, r, o, info.Meta.WorkingDir) }
	o.Change = func(conv *session.Conversation) (session.Changes, error) { return c.changes(ctx, r, o, conv) }
	return o, nil
}

// workspace is the directory of a flag, or else another; inside says that it is one
// inside the sandbox.
func (c *runCmd) workspace(r *foreground, or string, inside bool) (string, error) {
	if inside {
		dir := first(c.Workspace, or)
		if info, err := os.Stat(dir); c.Workspace != "" && err == nil && info.IsDir() {
			r.view.Warn("the workspace is " + dir + " inside the remote sandbox; it does not see this machine's " + dir)
		}
		return dir, nil
	}
	return runcommand.Workspace(first(c.Workspace, or), r.paths.data, r.std.Env("HOME"))
}

// spec is the specification of a new conversation. dir, unless empty, is where an
// imported one worked.
func (c *runCmd) spec(ctx context.Context, r *foreground, o runcommand.Options, dir string) (session.Spec, error) {
	if err := c.choose(r.std); err != nil {
		return session.Spec{}, err
	}
	inside := r.chosen().Class.Inside
	if inside != "" && c.Workspace == "" {
		dir = inside
	}
	dir, err := c.workspace(r, first(dir, "."), inside != "")
	if err != nil {
		return session.Spec{}, err
	}
	var models runcommand.Models
	if c.Replay == "" || c.task.Text != "" {
		if models, err = c.documents(ctx, r.models); err != nil {
			return session.Spec{}, err
		}
	}
	servers, err := c.servers(ctx, r, o, dir)
	if err != nil {
		return session.Spec{}, err
	}
	s := session.Spec{
		ID: o.ID, Title: runcommand.Title(c.task.Text), Setup: session.DefaultSetup(), Secrets: o.Secrets,
		Placement: r.placement(), MaxCost: c.MaxCost,
	}
	s.Workspace.WorkingDir, s.MaxIterations, s.Autotitle = dir, c.MaxIterations, false
	s.Confirm(security.Preset(c.Confirm))
	if s.Note, err = c.note(models).encode(); err != nil {
		return session.Spec{}, err
	}
	s.Agent, err = runcommand.NewAgent(models, servers)
	return s, err
}

// servers are the agent's MCP servers.
func (c *runCmd) servers(ctx context.Context, r *foreground, o runcommand.Options, dir string) (*schema.Map, error) {
	if len(c.MCPConfig) > 0 {
		return runcommand.ReadServers(c.MCPConfig...)
	}
	if c.Replay != "" && c.task.Text == "" || r.chosen().Class.Inside != "" {
		return nil, nil // nothing would call them, or the project is not on this machine
	}
	return runcommand.Project{
		Dir: dir, Answers: r.paths.mcpAnswers(), Unsandboxed: r.chosen().Open(), Again: c.AskMCP, Prompter: o.Prompter, Tell: r.view.Warn,
	}.Servers(ctx)
}

// changes are the flags' changes of a stored conversation. Everything without a
// flag is kept.
func (c *runCmd) changes(ctx context.Context, r *foreground, o runcommand.Options, conv *session.Conversation) (ch session.Changes, err error) {
	if c.Workspace == "" { // the links of the one that is stored are not followed anew
		if err := conv.CheckWorkspace(); err != nil {
			return ch, err
		}
	}
	c.keepStored(r)
	if !c.given["max-cost"] {
		c.MaxCost = conv.MaxCost()
	}
	chosen := r.chosenFor(conv.Placement())
	ignored, err := c.dropLimits(chosen)
	if err != nil {
		return ch, err
	}
	if len(ignored) > 0 {
		warnSandbox(r.view, chosen.Class, ignored)
	}
	r.dropLimits(chosen.Class)
	dir, err := c.workspace(r, conv.Workspace(), chosen.Class.Inside != "")
	if err != nil {
		return ch, err
	}
	ch = session.Changes{Secrets: o.Secrets, WorkingDir: dir, MaxIterations: c.MaxIterations, MaxCost: &c.MaxCost}
	p := conv.Placement()
	if r.executor != "" {
		p.ExecutorClass = r.executor
		ch.Placement = &p
	}
	if len(r.env)+len(r.secretEnv) > 0 {
		p.Env, p.SecretEnv = r.env, r.secretEnv
		ch.Placement = &p
	}
	if p.SandboxClass != "" {
		if chosen.Class.Name != p.SandboxClass || chosen.Level != p.Isolation || r.sandbox != autoSandbox {
			r.isolate(&p)
		}
		p.RuntimeClass = ""
		if r.network != "" {
			p.Network = r.network
		}
		p.Limits = r.limits.Or(p.Limits)
		p.Readable, p.Writable = union(p.Readable, r.read), union(p.Writable, r.write)
		ch.Placement = &p
	}
	var models runcommand.Models
	var note *runNote
	if c.Replay == "" || c.task.Text != "" {
		if models, note, err = c.modelsOf(ctx, r.std, r.models, conv); err != nil {
			return ch, err
		}
	}
	servers, err := runcommand.ReadServers(c.MCPConfig...)
	if err != nil {
		return ch, err
	}
	was := conv.Placement()
	if !sandboxClasses().Get(was.SandboxClass).Open(was.Isolation) && sandboxClasses().Get(p.SandboxClass).Open(p.Isolation) {
		if err := withoutSandbox(conv.Agent().MCPServers, servers); err != nil {
			return ch, err
		}
	}
	if note != nil {
		if ch.Note, err = note.encode(); err != nil {
			return ch, err
		}
	}
	ch.Agent, err = runcommand.UpdateAgent(conv.Agent(), models, note != nil, servers)
	return ch, err
}

// withoutSandbox refuses MCP servers that a conversation had in its sandbox and that
// the user does not name again: without one they would have the user's rights.
func withoutSandbox(stored, named *schema.Map) error {
	for _, name := range stored.Keys() {
		if named.Get(name) == nil {
			return fault.New(fault.Denied, "the MCP server "+name+" has run in the sandbox until now; without one it would have your rights").
				Hint("allow it by --mcp-config with a file that has it, or keep the sandbox")
		}
	}
	return nil
}

// union returns the items of two lists, sorted.
func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// buildImage builds the image of --dockerfile and --extra-deps, and returns the
// container with that image.
func (c *runCmd) buildImage(ctx context.Context, std *streams, p paths, with sandbox.Container) (_ sandbox.Container, err error) {
	hidden := append(existing(userDirs(std.Env)...), p.data)
	if c.Dockerfile != "" {
		rules := workspacedir.Rules{Home: std.Env("HOME"), Data: hidden, What: "the directory of the Dockerfile"}
		if _, err := rules.Check(filepath.Dir(c.Dockerfile)); err != nil {
			return with, err
		}
	}
	chosen, err := c.sandboxes(std.Env).Choice(c.Sandbox)
	if err != nil {
		return with, err
	}
	class := chosen.Class
	provider, err := class.New(sandbox.Config{Dir: class.DirIn(p.sandboxes())})
	if err != nil {
		return with, err
	}
	builder, ok := provider.(imageBuilder)
	if !ok {
		return with, fault.New(fault.Unsupported, "sandboxes of the class "+class.Name+" build no images")
	}
	defer func() { err = errors.Join(err, builder.Close()) }()
	show := func(line string) {
		if line = console.Line(line); !c.Quiet && strings.TrimSpace(line) != "" {
			fmt.Fprintln(std.Err, "image:", line)
		}
	}
	name, err := builder.BuildImage(ctx, image.Request{
		Base: c.Image, Dockerfile: c.Dockerfile, ExtraDeps: c.ExtraDeps, Hidden: hidden, Refresh: c.Pull == sandbox.PullAlways,
	}, show)
	with.Image, with.Pull = name, sandbox.PullNever // it is on this machine only
	if class.Inside != "" {
		with.Pull = sandbox.PullMissing // another machine may run it
	}
	return with, err
}

// imageBuilder is a provider that builds images where its sandboxes are.
type imageBuilder interface {
	image.Builder
	Close() error
}
