// Package build makes the resources of conversations from their specifications:
// the agent with its tools, MCP servers and skills, the runtime where actions run,
// and the models. It links the tools, sandboxes and LLM adapters that ship with
// Deft, so only programs import it.
//
// # Usage
//
//	b, err := build.New(build.Options{Dir: dir, Defaults: session.Placement{SandboxClass: "process"}})
//	m, err := session.Open(session.Options{Builder: b, Models: build.NewModels(log), …})
//	…
//	err = b.Close()
//
// # Classes
//
// Agents, runtimes, sandboxes and executors are chosen by registered name: from
// the conversation's [session.Placement], else from [Options.Defaults]. A program
// that has classes of its own adds them to [Options.Classes], which begins with
// [StandardClasses].
//
// # Concurrency and failure
//
// A Builder is safe for concurrent use. A missing part that a conversation can do
// without (a tool, an MCP server) is a warning in the resources; an unknown class
// is an error of kind Invalid.
package build

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/deft-dev/deft/critic/api"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/executor/standard"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/security/remote"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/spec"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/mcp"
	"github.com/deft-dev/deft/tool/terminal"
)

// DefaultGrace is how long a sandbox outlives the process that uses it, so that
// another one finds its running actions.
const DefaultGrace = 10 * time.Minute

// Options say how a Builder makes resources. Dir is required.
type Options struct {
	// Dir is the directory of conversations; results that do not fit into an
	// event lie below it.
	Dir string
	// SandboxDir holds the sockets and journals of sandboxes; Dir/sandboxes by
	// default.
	SandboxDir string
	// Hidden are paths that no sandbox shows, beside Dir, where they exist when it
	// starts. A workspace in one of them is shown to its own conversation.
	Hidden []string
	// Store has the conversations whose workspaces a sandbox does not show, as far
	// as they are known when it starts; nil for none.
	Store Directories
	// OneUser shows a conversation those workspaces of others that lie in its
	// repository or in a directory that it is granted. By default they are hidden
	// there, too.
	OneUser bool
	// Env are the variables of commands; [CommandEnv] of the process by
	// default.
	Env []string
	// Grace is how long a sandbox that is kept waits for another process.
	// DefaultGrace if 0.
	Grace time.Duration
	// Defaults are the classes and the isolation of conversations that name none.
	// Their Env is for all conversations, which may replace it.
	Defaults session.Placement
	// Classes are the registered classes; StandardClasses() if empty.
	Classes Classes
	// MCP returns the MCP servers of this process that a conversation has beside its
	// agent's, by name; nil for none.
	MCP func(ctx context.Context, r session.BuildRequest) (mcp.Local, error)
	// Logins returns an owner's logins at remote MCP servers; nil for none.
	Logins func(ctx context.Context, owner identity.Tenant) (mcp.Logins, error)
	// Plugins is the directory with the copies of the user's plugins, which the sandboxes of his
	// conversations show; "" for none.
	Plugins string
	// Program returns where the program is that runs in sandboxes, for which it has the
	// directory dir, and what writes it there before a start; "" for this process's program,
	// which is the default. Programs with executor classes of their own need theirs.
	Program func(dir string) (path string, install func() error, err error)
	// Shells starts the shells that run in this process; nil for the ordinary
	// way.
	Shells *terminal.Starter
	Log    *slog.Logger
}

// Builder implements [session.Builder].
type Builder struct {
	o Options

	others  otherWorkspaces
	mcpPool mcp.Pool
	raters  *remote.Client
	critics *api.Client

	mu        sync.Mutex
	sandboxes map[sandboxKey]sandbox.Provider
}

// sandboxKey identifies a provider of sandboxes.
type sandboxKey struct{ class, isolation string }

var _ session.Builder = (*Builder)(nil)

// New returns a Builder.
func New(o Options) (*Builder, error) {
	var err error
	if o.Dir, err = filepath.Abs(o.Dir); err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "find the directory of conversations")
	}
	if o.SandboxDir == "" {
		o.SandboxDir = filepath.Join(o.Dir, "sandboxes")
	}
	if o.Env == nil {
		o.Env = CommandEnv(os.Environ())
	}
	o.Env = merged(o.Env, o.Defaults.Env)
	o.Grace = cmp.Or(o.Grace, DefaultGrace)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Classes.empty() {
		o.Classes = StandardClasses()
	}
	if _, err := o.Classes.Sandboxes.Find(sandbox.None.Name); err != nil {
		o.Classes.Sandboxes = o.Classes.Sandboxes.With(sandbox.None)
	}
	if o.Defaults.ExecutorClass, err = standard.AbsoluteClass(o.Defaults.ExecutorClass); err != nil {
		return nil, err
	}
	if err := o.Classes.check(o.Defaults); err != nil {
		return nil, err
	}
	return &Builder{o: o, others: otherWorkspaces{store: o.Store}, raters: remote.New(os.Getenv), critics: api.New(), sandboxes: map[sandboxKey]sandbox.Provider{}}, nil
}

// Build implements [session.Builder].
func (b *Builder) Build(ctx context.Context, r session.BuildRequest) (_ session.Resources, err error) {
	r.Placement = b.placement(r.Placement)
	if r.Agent.Kind == spec.ACPKind {
		r.AgentClass = spec.ACPKind
	}
	if err := b.o.Classes.check(r.Placement); err != nil {
		return nil, err
	}
	env, mark := b.environment(ctx, r)
	if r.Project != nil {
		if err := b.readProject(ctx, &r, env, mark); err != nil {
			return nil, err
		}
	}
	p := &parts{local: localTools(r.Tasks), more: b.o.Classes.Tools, open: b.open(r)}
	own := r.Agent.Kind != spec.ACPKind // another program brings its own tools
	if !own {
		p.addPermissions(r)
		r.ClientTools = nil
	} else if err := p.addTools(ctx, r, b.o.Log); err != nil {
		return nil, err
	}
	clientTools, err := p.clientTools(r)
	if err != nil {
		return nil, err
	}
	var local mcp.Local
	if b.o.MCP != nil && own && !r.Agent.Plans() {
		if local, err = b.o.MCP(ctx, r); err != nil {
			return nil, err
		}
	}
	var mcpTools *mcpExecutor
	if own {
		mcpTools = p.mcpExecutor(r, local)
	}
	newExecutors, err := b.o.Classes.Executor(r.ExecutorClass)
	if err != nil {
		return nil, err
	}
	e, err := b.o.Classes.Runtimes[r.RuntimeClass](ctx, RuntimeConfig{
		EnvMark: mark,
		Builder: b, Request: r, Local: p.local, Tools: p.defs, Grace: b.o.Grace,
		NewExecutors: newExecutors,
		Executors: ExecutorConfig{
			Workspace: r.Workspace, Scratch: filepath.Join(b.o.Dir, r.ID.Hex(), "observations"), Env: env, Shells: b.o.Shells, Log: b.o.Log,
		},
	})
	if err != nil {
		return nil, err
	}
	keep := true // running actions of the sandbox go on
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close(), e.Close(context.WithoutCancel(ctx), keep))
		}
	}()
	first := len(p.defs)
	if own && !r.Agent.Plans() {
		if err := p.addExternal(ctx, e.Tools); err != nil {
			keep = false // the next try starts the executors anew
			return nil, err
		}
	}
	res := &resources{Place: e, b: b, parts: p, local: e.Local(), servers: r.Agent.MCPServers, programs: e.Programs}
	others := len(p.defs)
	res.lent = p.defs[first:others:others]
	if mcpTools != nil { // its programs start in the sandbox of the runtime
		b.addMCP(ctx, r, r.Agent.MCPServers, p, mcpTools, e.Programs())
		res.mcp = mcpTools
	}
	before, listed := p.defs[:others:others], len(p.defs)
	if err := p.addClientTools(clientTools); err != nil {
		return nil, err
	}
	if res.agent, err = b.newAgent(r, p, agentPlace{e, res}); err != nil {
		return nil, err
	}
	if mcpTools != nil {
		if err := mcpTools.serve(res.agent, before, p.defs[listed:]); err != nil { // it has the tools of the start
			b.o.Log.Warn("take over the tools of MCP servers", "err", err)
		}
	}
	if r.TaskRuntime != nil {
		res.local = withTasks{res.local, r.TaskRuntime}
	}
	if place, ok := e.(session.Pauser); ok {
		return pausable{res, place}, nil
	}
	return res, nil
}

// newAgent makes the agent with the tools that were collected.
func (b *Builder) newAgent(r session.BuildRequest, p *parts, place AgentPlace) (session.Agent, error) {
	set, err := tool.NewSet(p.defs...)
	if err != nil {
		return nil, err
	}
	prompt, err := promptOf(r)
	if err != nil {
		return nil, err
	}
	prompt.Place = b.place(r)
	if file := r.Agent.SystemPromptFilename; file != builtinPrompt && !r.Agent.Plans() {
		p.warnings = append(p.warnings, "this server has no system prompt "+file)
	}
	a, err := b.o.Classes.Agents[r.AgentClass](AgentConfig{Tools: set, Condenser: r.Condenser, Prompt: prompt, Model: r.Model, Request: r, Place: place})
	if err != nil {
		return nil, fmt.Errorf("set up the agent: %w", err)
	}
	if c, ok := a.(io.Closer); ok { // before the place
		p.closers = append(p.closers, c.Close)
	}
	return a, nil
}

// placement fills in choices that a conversation leaves open.
func (b *Builder) placement(p session.Placement) session.Placement {
	d := b.o.Defaults
	if p.SandboxClass == "" {
		p.SandboxClass, p.Isolation, p.Network, p.Limits = d.SandboxClass, d.Isolation, cmp.Or(p.Network, d.Network), d.Limits
		p.Readable, p.Writable, p.Container = d.Readable, d.Writable, d.Container
	}
	for _, f := range []struct {
		name *string
		or   string
	}{
		{&p.AgentClass, d.AgentClass}, {&p.AgentClass, CodeActAgent}, {&p.SandboxClass, sandbox.None.Name},
		{&p.RuntimeClass, d.RuntimeClass}, {&p.ExecutorClass, d.ExecutorClass}, {&p.ExecutorClass, StandardExecutor},
	} {
		if *f.name == "" {
			*f.name = f.or
		}
	}
	if p.RuntimeClass == "" {
		p.RuntimeClass = SandboxedRuntime
		if b.class(p).New == nil {
			p.RuntimeClass = LocalRuntime
		}
	}
	return p
}

// Remove implements [session.Builder]: it removes the conversation's sandboxes.
func (b *Builder) Remove(ctx context.Context, id event.ConversationID) error {
	var errs []error
	if _, err := os.Stat(b.o.SandboxDir); err == nil { // an earlier process may have started it
		for _, class := range b.o.Classes.Sandboxes.Isolating() {
			_, err := b.Sandboxes(class.Name, "")
			errs = append(errs, err)
		}
	}
	b.mu.Lock()
	all := slices.Collect(maps.Values(b.sandboxes))
	b.mu.Unlock()
	ids := []string{id.Hex()}
	for _, class := range b.o.Classes.Sandboxes.Isolating() {
		own, err := filepath.Glob(filepath.Join(class.DirIn(b.o.SandboxDir), id.Hex()+ownSandboxMark+"*")) // of a process that was killed
		errs = append(errs, err)
		for _, dir := range own {
			ids = append(ids, filepath.Base(dir))
		}
	}
	for _, p := range all {
		for _, id := range ids {
			errs = append(errs, p.Remove(ctx, id))
		}
	}
	return errors.Join(errs...)
}

// Close releases the providers of sandboxes. Conversations must have been
// closed before.
func (b *Builder) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var errs []error
	for _, p := range b.sandboxes {
		if c, ok := p.(interface{ Close() error }); ok {
			errs = append(errs, c.Close())
		}
	}
	b.sandboxes = map[sandboxKey]sandbox.Provider{}
	return errors.Join(errs...)
}

// open reports whether actions of a conversation have the rights of this process.
func (b *Builder) open(r session.BuildRequest) bool {
	return r.RuntimeClass == LocalRuntime || b.class(r.Placement).Open(r.Isolation)
}

// class is the class of a placement's sandbox.
func (b *Builder) class(p session.Placement) sandbox.Class {
	return b.o.Classes.Sandboxes.Get(p.SandboxClass)
}

// Sandboxes returns the provider of a class of sandboxes at a level of
// isolation. It is made when it is first needed.
func (b *Builder) Sandboxes(class, isolation string) (sandbox.Provider, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := sandboxKey{class, isolation}
	if p := b.sandboxes[key]; p != nil {
		return p, nil
	}
	of, err := b.o.Classes.Sandboxes.Find(class)
	if err == nil && of.New == nil {
		err = fault.New(fault.Unsupported, "this conversation works without a sandbox")
	}
	if err == nil {
		err = of.CheckLevel(isolation)
	}
	if err != nil {
		return nil, err
	}
	hidden := append([]string{b.o.Dir}, b.o.Hidden...)
	if err := os.MkdirAll(b.o.Dir, 0o700); err != nil { // hidden paths must exist
		return nil, fmt.Errorf("make %s: %w", b.o.Dir, err)
	}
	own, install, err := b.program()
	if err != nil {
		return nil, err
	}
	c := sandbox.Config{Dir: of.DirIn(b.o.SandboxDir), Program: own, Install: install, Level: isolation, Hidden: hidden, GitIdentity: true}
	if shared, ok := b.o.Store.(interface{ Installation() string }); ok {
		c.Installation = shared.Installation()
	}
	p, err := of.New(c)
	if err != nil {
		return nil, err
	}
	b.sandboxes[key] = p
	return p, nil
}

// program is the path of the program in sandboxes, and the function that writes it; "" for this
// process's.
func (b *Builder) program() (path string, install func() error, err error) {
	if b.o.Program == nil {
		return "", nil, nil
	}
	return b.o.Program(filepath.Join(b.o.Dir, "program"))
}

func unknownClass[C any](what, name string, known map[string]C) error {
	return fault.New(fault.Invalid, "there is no "+what+" class "+name).
		Hint("registered are " + strings.Join(slices.Sorted(maps.Keys(known)), ", "))
}
