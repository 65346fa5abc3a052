package main

import (
	"cmp"
	"context"
	"encoding/json"
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
	"github.com/deft-dev/deft/executor/standard"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/hook"
	"github.com/deft-dev/deft/internal/portforward"
	"github.com/deft-dev/deft/internal/startpages"
	"github.com/deft-dev/deft/internal/workspacedir"
	"github.com/deft-dev/deft/llm/catalog"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/image"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/security"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/spec"
)

// Run works on the task until it ends.
func (c *runCmd) Run(ctx context.Context, std *streams, g *globalFlags) error {
	_ = startpages.Release() // of the packages' start and the command line; without /proc nothing is wrong
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
	r.grace, r.keep, r.api, r.checkpoints = c.Grace, c.Keep, c.runtimeAPIFlags, session.CheckpointTimes(c.Checkpoints)
	if c.Dockerfile+c.ExtraDeps != "" {
		if err := c.buildImage(ctx, std, p); err != nil {
			return err
		}
	}
	if r.executor, err = standard.AbsoluteClass(c.Executor); err != nil {
		return err
	}
	if err := c.grant(std, p); err != nil {
		return err
	}
	r.take(c)
	o, err := c.options(ctx, r)
	if err != nil {
		return err
	}
	if r.published, err = portforward.Listen(ctx, c.Publish); err != nil {
		return err
	}
	return r.run(ctx, o)
}

// grant checks the directories of --read, --write and --mount.
func (c *runCmd) grant(std *streams, p paths) (err error) {
	rules := workspacedir.Rules{Home: std.Env("HOME"), Data: append(userDirs(std.Env), p.data)}
	if c.Read, err = rules.Granted("--read", c.Read); err != nil {
		return err
	}
	if c.Write, err = rules.Granted("--write", c.Write); err != nil {
		return err
	}
	c.Mount, err = sandbox.GrantMounts(c.Mount, func(dir string) (string, error) { return rules.Grant("--mount", dir) })
	return err
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
	if o.Analyzer, err = runcommand.ReadAnalyzer(c.Analyzer, o.Confirm); err != nil {
		return o, err
	}
	if c.Replay != "" {
		defer func() { // mistakes in other flags are reported first
			if err == nil {
				o.Replay, err = runcommand.ReadTrajectory(c.Replay)
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
	if o.ID, err = conversations.ResolveIn(ctx, r.store, c.Resume, cmp.Or(c.Workspace, ".")); err != nil {
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
		dir := cmp.Or(c.Workspace, or)
		if info, err := os.Stat(dir); c.Workspace != "" && err == nil && info.IsDir() {
			r.view.Warn("the workspace is " + dir + " inside the remote sandbox; it does not see this machine's " + dir)
		}
		return dir, nil
	}
	return runcommand.Workspace(cmp.Or(c.Workspace, or), r.paths.data, r.std.Env("HOME"))
}

// spec is the specification of a new conversation. dir, unless empty, is where an
// imported one worked.
func (c *runCmd) spec(ctx context.Context, r *foreground, o runcommand.Options, dir string) (session.Spec, error) {
	if c.ACP == "" {
		if err := c.Choose(r.models, c.Quiet); err != nil {
			return session.Spec{}, err
		}
	}
	inside := r.chosen().Class.Inside
	if inside != "" && c.Workspace == "" {
		dir = inside
	}
	dir, err := c.workspace(r, cmp.Or(dir, "."), inside != "")
	if err != nil {
		return session.Spec{}, err
	}
	var chosen runcommand.Models
	if c.ACP == "" && (c.Replay == "" || c.task.Text != "") {
		if chosen, err = c.Documents(ctx, r.models, c.MaxCost); err != nil {
			return session.Spec{}, err
		}
	}
	var asked session.Asked
	servers, err := c.servers(ctx, r, o, dir, &asked)
	if err != nil {
		return session.Spec{}, err
	}
	s := session.Spec{
		Asked: asked,
		ID:    o.ID, Title: runcommand.Title(c.task.Text), Setup: session.DefaultSetup(), Secrets: o.Secrets,
		Placement: r.placement(), MaxCost: c.MaxCost,
	}
	s.Workspace.WorkingDir, s.MaxIterations, s.Autotitle = dir, c.MaxIterations, false
	s.Confirm(o.Confirm)
	if o.Analyzer != nil {
		s.Analyzer = o.Analyzer
	}
	if s.Note, err = c.Note(chosen); err != nil {
		return session.Spec{}, err
	}
	if err := c.hooks(ctx, r, o, &s); err != nil {
		return session.Spec{}, err
	}
	if c.ACP != "" {
		s.Note = nil
		s.Agent, err = c.program(r, o, servers)
		return s, err
	}
	own, err := r.agentSettings(ctx)
	if err != nil {
		return session.Spec{}, err
	}
	if own, err = runcommand.CondenserOf(own, c.Condenser); err != nil {
		return session.Spec{}, err
	}
	s.NoPlugins = c.NoPlugins
	if s.Agent, err = runcommand.NewAgent(chosen, own, servers, c.Preset, c.Tool...); err != nil {
		return session.Spec{}, err
	}
	err = c.addPlugins(ctx, r, o, inside != "", &s)
	return s, err
}

// program is the agent of --acp. The key of a known one is among the secrets.
func (c *runCmd) program(r *foreground, o runcommand.Options, servers *schema.Map) (*spec.Agent, error) {
	model := ""
	if c.modelGiven {
		model = c.Model
	}
	a, key, err := runcommand.NewProgram(c.ACP, model, servers)
	if err != nil || key == "" || o.Secrets[key] != nil || r.std.Env(key) == "" {
		return a, err
	}
	if o.Secrets[key], err = runcommand.StaticSecret(r.std.Env(key)); err == nil && !c.Quiet {
		r.view.Warn(c.ACP + " gets " + key + " of the environment")
	}
	return a, err
}

// servers are the agent's MCP servers: of the user or the project, and of a client that Deft
// serves.
func (c *runCmd) servers(ctx context.Context, r *foreground, o runcommand.Options, dir string, asked *session.Asked) (*schema.Map, error) {
	all, err := c.ownServers(ctx, r, o, dir, asked)
	if err != nil || len(c.clientServers) == 0 {
		return all, err
	}
	more, err := runcommand.ParseServers(c.clientServers)
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "the client's MCP servers")
	}
	if all == nil {
		return more, nil
	}
	for _, name := range more.Keys() {
		all.Set(name, more.Get(name))
	}
	return all, nil
}

func (c *runCmd) ownServers(ctx context.Context, r *foreground, o runcommand.Options, dir string, asked *session.Asked) (*schema.Map, error) {
	if len(c.MCPConfig) > 0 {
		return runcommand.ReadServers(c.MCPConfig...)
	}
	if c.Replay != "" && c.task.Text == "" || r.chosen().Class.Inside != "" {
		return nil, nil // nothing would call them, or the project is not on this machine
	}
	servers, err := c.project(r, o, dir, c.AskMCP).Servers(ctx)
	asked.Servers, asked.Allowed = true, servers.Keys()
	return servers, err
}

// changes are the flags' changes of a stored conversation. Everything without a
// flag is kept.
func (c *runCmd) changes(ctx context.Context, r *foreground, o runcommand.Options, conv *session.Conversation) (ch session.Changes, err error) {
	if c.Workspace == "" { // the links of the one that is stored are not followed anew
		if err := conv.CheckWorkspace(); err != nil {
			return ch, err
		}
	}
	c.keepStored()
	r.take(c)
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
	r.take(c)
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
		p.Network = cmp.Or(r.network, p.Network)
		p.Limits = r.limits.Or(p.Limits)
		p.Readable, p.Writable = union(p.Readable, r.read), union(p.Writable, r.write)
		ch.Placement = &p
	}
	var models runcommand.Models
	var note json.RawMessage
	program := conv.Agent().Kind == spec.ACPKind
	switch {
	case c.ACP != "":
		return ch, fault.New(fault.Invalid, "a conversation keeps its agent").Hint("leave --acp out, or start a new conversation")
	case program && (c.Preset != "" || len(c.Tool) > 0 || c.Profile != "" || len(c.Service) > 0):
		return ch, fault.New(fault.Invalid, "the agent of this conversation is another program, with its own tools and models").Hint("leave --preset, --tool, --profile and --service out")
	}
	if !program && (c.Replay == "" || c.task.Text != "") {
		if models, note, err = c.Of(ctx, r.models, conv, c.MaxCost, c.Quiet); err != nil {
			return ch, err
		}
	}
	servers, err := runcommand.ReadServers(c.MCPConfig...)
	if err != nil {
		return ch, err
	}
	agent, err := c.askAgain(ctx, r, o, conv, chosen, &ch, servers)
	if err != nil {
		return ch, err
	}
	was := conv.Placement()
	if !sandboxClasses().Get(was.SandboxClass).Open(was.Isolation) && sandboxClasses().Get(p.SandboxClass).Open(p.Isolation) {
		if err := withoutSandbox(conv.Agent().MCPServers, servers); err != nil {
			return ch, err
		}
	}
	if len(c.Hooks) > 0 {
		hooks, err := runcommand.ReadHooks(c.Hooks...)
		if err != nil {
			return ch, err
		}
		ch.Hooks = cmp.Or(hooks, &hook.Config{})
		ch.Asked.Hooks = false
	}
	ch.Note = note
	if program && c.modelGiven {
		if ch.Agent, err = agent.With("acp_model", c.Model); err != nil {
			return ch, err
		}
		ch.Agent, err = runcommand.UpdateAgent(ch.Agent, models, false, servers, "")
		return ch, err
	}
	ch.Agent, err = runcommand.UpdateAgent(agent, models, note != nil, servers, c.Preset, c.Tool...)
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

// buildImage builds the image of --dockerfile and --extra-deps, which takes the place of
// --image.
func (c *runCmd) buildImage(ctx context.Context, std *streams, p paths) (err error) {
	hidden := append(existing(userDirs(std.Env)...), p.data)
	if c.Dockerfile != "" {
		rules := workspacedir.Rules{Home: std.Env("HOME"), Data: hidden, What: "the directory of the Dockerfile"}
		if _, err := rules.Check(filepath.Dir(c.Dockerfile)); err != nil {
			return err
		}
	}
	chosen, err := c.sandboxes(std.Env).Choice(c.Sandbox)
	if err != nil {
		return err
	}
	class := chosen.Class
	provider, err := class.New(sandbox.Config{Dir: class.DirIn(p.sandboxes())})
	if err != nil {
		return err
	}
	builder, ok := provider.(imageBuilder)
	if !ok {
		return fault.New(fault.Unsupported, "sandboxes of the class "+class.Name+" build no images")
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
	c.Image, c.Pull = name, sandbox.PullNever // it is on this machine only
	if class.Inside != "" {
		c.Pull = sandbox.PullMissing // another machine may run it
	}
	return err
}

// imageBuilder is a provider that builds images where its sandboxes are.
type imageBuilder interface {
	image.Builder
	Close() error
}
