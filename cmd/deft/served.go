package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"os/signal"
	"sync"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/deft-dev/deft/cli/modelchoice"
	"github.com/deft-dev/deft/cli/runcommand"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/security"
	"github.com/deft-dev/deft/session"
)

// servedFlags are the flags of [runCmd] that fit every conversation of a program that starts Deft
// and talks to it over standard input and output.
type servedFlags struct {
	modelchoice.Choice
	Preset        string          `help:"Tools for the agent: default, gpt5 or gemini; see deft run --help." enum:",default,gpt5,gemini" default:"" placeholder:"NAME" env:"DEFT_PRESET"`
	Tool          []string        `help:"Further tool for the agent, such as ipython or browser_tool_set. May be repeated." placeholder:"NAME"`
	MaxIterations int             `help:"Stop a task after this many steps." default:"500" placeholder:"N" env:"MAX_ITERATIONS"`
	MaxCost       float64         `help:"Never spend more than this many US dollars on a task; 0 for no limit." placeholder:"DOLLARS" env:"MAX_BUDGET_PER_TASK"`
	Sandbox       string          `help:"Isolation of the agent's actions: ${sandbox_choice_help}." enum:"${sandbox_choices}" default:"auto" placeholder:"LEVEL" env:"DEFT_SANDBOX"`
	Image         string          `help:"Image for --sandbox ${image_classes}; any image will do (default for ${default_images})." placeholder:"IMAGE" env:"DEFT_IMAGE"`
	Net           sandbox.Network `help:"Hosts that the agent's commands may reach; see deft run --help." placeholder:"HOSTS" env:"DEFT_NET"`
	Read          []string        `help:"Directory outside the workspace that the agent's commands may read. May be repeated." placeholder:"DIR" type:"path" env:"DEFT_READ" sep:":"`
	Write         []string        `help:"Directory outside the workspace that the agent's commands may change. May be repeated." placeholder:"DIR" type:"path" env:"DEFT_WRITE" sep:":"`
	Memory        sandbox.Size    `help:"How much memory a sandbox may use, for example 8G, or none for no limit (default: three quarters of this machine's)." placeholder:"SIZE" env:"DEFT_MEMORY"`
	Pids          int             `help:"How many processes and threads a sandbox may have; -1 for no limit (default: 1024, or 64 for each processor)." placeholder:"N" env:"DEFT_PIDS"`
	CPUs          float64         `name:"cpus" help:"How many processors a sandbox may use (default: all)." placeholder:"N" env:"DEFT_CPUS"`
	MCPConfig     []string        `name:"mcp-config" help:"File with MCP servers for the agent. May be repeated." placeholder:"FILE" type:"path"`
	Hooks         []string        `help:"File with hooks, in place of your own and the project's; none for no hooks. May be repeated." placeholder:"FILE"`
	SecretEnv     []string        `name:"secret-env" help:"Name of an environment variable that the agent's commands may use. Its value is masked everywhere. May be repeated." placeholder:"NAME"`
	Env           []string        `help:"A variable for the agent's commands. A name alone takes the value that it has here. May be repeated." placeholder:"NAME[=VALUE]" sep:"none"`

	given map[string]bool
}

// AfterApply notes which flags are given.
func (c *servedFlags) AfterApply(k *kong.Context) error {
	c.given = map[string]bool{}
	for _, flag := range storedSettings {
		c.given[flag] = given(k, flag)
	}
	return nil
}

// run is the run of a conversation.
func (c *servedFlags) run() *runCmd {
	return &runCmd{
		Choice: c.Choice, Preset: c.Preset, Tool: c.Tool, MaxIterations: c.MaxIterations, MaxCost: c.MaxCost, Quiet: true,
		Sandbox: c.Sandbox, Image: c.Image, Net: c.Net, Read: c.Read, Write: c.Write, Memory: c.Memory, Pids: c.Pids, CPUs: c.CPUs,
		MCPConfig: c.MCPConfig, Hooks: c.Hooks, SecretEnv: c.SecretEnv, Env: c.Env, Checkpoints: string(session.CheckpointTurns),
		given: c.given,
	}
}

// served makes the conversations of a client.
type served struct {
	run      *runCmd
	r        *foreground
	options  runcommand.Options
	sessions *session.Manager
	inside   bool // workspaces are inside the sandboxes
	log      *slog.Logger

	mu sync.Mutex // the models are chosen one at a time
}

// serveOver serves a client over the standard streams until it goes away, or the user stops it.
// Nothing else is written to the standard output.
func serveOver(ctx context.Context, std *streams, g *globalFlags, one *runCmd, serve func(ctx context.Context, s *served, in io.ReadCloser) error) (err error) {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	own := *std
	own.Out, own.OutTTY = own.Err, own.ErrTTY // the standard output is the protocol's
	p, err := findPaths(g.Data, std.Env)
	if err != nil {
		return err
	}
	chosen, err := sandboxClasses().Choice(one.Sandbox)
	if err != nil {
		return err
	}
	if !chosen.Has(sandbox.FeatureImage) && !one.given["image"] {
		one.Image = ""
	}
	ignored, err := one.dropLimits(chosen)
	if err != nil {
		return err
	}
	if err := errors.Join(one.check(), one.checkRuntimeAPI(one.Sandbox, std.Env), runcommand.CheckNetwork(ctx, one.Net, net.DefaultResolver.LookupHost), one.grant(&own, p)); err != nil {
		return err
	}
	store, err := openStore(ctx, p)
	if err != nil {
		return err
	}
	defer store.Close()
	r := newForeground(&own, p, store, newView(one, &own, g))
	warnSandbox(r.view, chosen.Class, ignored)
	r.checkpoints = session.CheckpointTurns
	r.take(one)
	env, allOf, err := one.environment(r.std)
	if err != nil {
		return err
	}
	r.env, r.secretEnv = env.Plain, allOf
	s := &served{
		run: one, r: r, inside: chosen.Class.Inside != "",
		options: runcommand.Options{Secrets: env.Secrets, Confirm: security.Preset(one.Confirm)},
		log:     slog.New(slog.NewTextHandler(std.Err, &slog.HandlerOptions{Level: slog.LevelWarn})),
	}
	builder, sessions, err := r.open(r.models, s.log)
	if err != nil {
		return err
	}
	s.sessions = sessions
	defer func() { err = errors.Join(err, sessions.Close(context.WithoutCancel(ctx)), builder.Close()) }()
	in, feed := io.Pipe()
	go func() { // it ends with the process: a read of a terminal cannot be stopped
		_, err := io.Copy(feed, std.In)
		feed.CloseWithError(cmp.Or(err, io.EOF))
	}()
	return serve(ctx, s, in)
}

// spec is the specification of a new conversation. servers are MCP servers of the client, in the
// form of --mcp-config, beside the user's; nil for none.
func (s *served) spec(ctx context.Context, id event.ConversationID, task, dir string, servers json.RawMessage) (session.Spec, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, o := *s.run, s.options
	c.task, c.Workspace, o.ID, c.clientServers = runcommand.Task{Text: task}, dir, id, servers
	return c.spec(ctx, s.r, o, dir)
}
