package main

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/deft-dev/deft/checkpoint"
	"github.com/deft-dev/deft/cli/console"
	"github.com/deft-dev/deft/cli/conversations"
	"github.com/deft-dev/deft/cli/modelchoice"
	"github.com/deft-dev/deft/cli/runcommand"
	"github.com/deft-dev/deft/cli/undo"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream/sqlite"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/internal/portforward"
	"github.com/deft-dev/deft/internal/startpages"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/plugin"
	"github.com/deft-dev/deft/runtime/remote"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/server/agentserver/config"
	"github.com/deft-dev/deft/server/view"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/session/build"
	"github.com/deft-dev/deft/session/conversationlock"
	"github.com/deft-dev/deft/skill"
	"github.com/deft-dev/deft/subagent"
	"github.com/deft-dev/deft/tool/mcp"
)

// foreground has the parts of one conversation that runs in the foreground, for
// `deft run` and `deft demo`.
type foreground struct {
	watch   func(child *session.Conversation) // of sub-agents, in place of the view; nil for none
	std     *streams
	paths   paths
	store   *sqlite.Store
	view    *runcommand.View
	models  *modelchoice.Source
	sandbox string          // choice of a sandbox
	api     runtimeAPIFlags // for remote sandboxes
	network sandbox.Network // of --net; "": not given
	read    []string        // of --read, checked
	write   []string        // of --write, checked
	limits  sandbox.Limits
	// container has the values of --image and its like, for --sandbox docker and
	// remote.
	container sandbox.Container
	// executor is the executor class of --executor; "": not given.
	executor string
	grace    time.Duration
	// keep is how long programs that still run at the end stay, and grace how long the sandbox
	// does of a run that has not come to its end.
	keep time.Duration
	// checkpoints says when checkpoints are taken.
	checkpoints session.CheckpointTimes
	// published are the ports of --publish.
	published *portforward.Open
	// env are variables for commands, and secretEnv the names of secrets that all
	// of them get.
	env, secretEnv []string
}

// newForeground returns the foreground of a store.
func newForeground(std *streams, p paths, store *sqlite.Store, view *runcommand.View) *foreground {
	source := modelchoice.New(std.Env, std.tell)
	if view != nil {
		source.Log = view.Log()
	}
	return &foreground{
		std: std, paths: p, store: store, view: view, sandbox: autoSandbox, grace: build.DefaultGrace,
		checkpoints: session.CheckpointTurns, published: &portforward.Open{},
		api:    runtimeAPIFromEnvironment(std.Env),
		models: source,
	}
}

// placement is the placement of a new conversation, and of one that names none.
func (r *foreground) placement() session.Placement {
	p := session.Placement{Network: r.network, Limits: r.limits, Readable: r.read, Writable: r.write}
	p.Env, p.SecretEnv = r.env, r.secretEnv
	r.isolate(&p)
	p = build.FromEnvironment(p, r.std.Env)
	p.ExecutorClass = cmp.Or(r.executor, p.ExecutorClass)
	return p
}

// isolate writes the values of --sandbox, --image and their like. Omitted values stay
// unchanged where the sandbox is of the same kind.
func (r *foreground) isolate(p *session.Placement) {
	chosen := r.chosen()
	var was sandbox.Container
	if p.SandboxClass == chosen.Class.Name {
		was = p.Container
	}
	p.SandboxClass, p.Isolation, p.Container = chosen.Class.Name, chosen.Level, sandbox.Container{}
	if chosen.Has(sandbox.FeatureImage) {
		p.Container = r.container.Or(was)
	}
}

// chosen is the sandbox of --sandbox, which was checked.
func (r *foreground) chosen() sandbox.Choice {
	chosen, err := sandboxClasses().Choice(r.sandbox)
	if err != nil {
		chosen.Name = r.sandbox
	}
	return chosen
}

// chosenFor is the sandbox of a stored conversation: its own, unless --sandbox names
// another one or it was not made by deft run.
func (r *foreground) chosenFor(p session.Placement) sandbox.Choice {
	class := sandboxClasses().Get(p.SandboxClass)
	if r.sandbox != autoSandbox || class.New == nil || len(class.Levels) > 0 && p.Isolation == "" {
		return r.chosen()
	}
	return sandbox.Choice{Name: cmp.Or(p.Isolation, class.Name), Class: class, Level: p.Isolation}
}

// take takes over the isolation that flags ask for.
func (r *foreground) take(c *runCmd) {
	r.sandbox, r.network, r.read, r.write = c.Sandbox, c.Net, c.Read, c.Write
	r.limits = sandbox.Limits{MemoryBytes: int64(c.Memory), PIDs: c.Pids, CPUs: c.CPUs}
	r.container = sandbox.Container{
		Image: c.Image, Pull: c.Pull, Runtime: c.OCIRuntime, ReadOnly: c.ReadOnly, GPUs: c.GPUs,
		ExtraHosts: c.AddHost, DiskBytes: int64(c.Disk), Mounts: c.Mount,
	}
}

// run opens the sessions and runs.
func (r *foreground) run(ctx context.Context, o runcommand.Options) (err error) {
	log := r.view.Log()
	builder, sessions, err := r.open(r.view.Watch(r.models), log)
	if err != nil {
		return errors.Join(err, r.published.Close())
	}
	defer func() { err = errors.Join(err, sessions.Close(context.WithoutCancel(ctx)), builder.Close()) }()
	unpublish := r.publish(ctx, builder, sessions, o.ID)
	defer func() { err = errors.Join(err, unpublish()) }()
	o.Sessions, o.View, o.Grace, o.KeepPrograms = sessions, r.view, r.grace, r.keep
	// The model answers now, or soon.
	release := time.AfterFunc(releaseAfter, func() { releaseStart(log) })
	defer release.Stop()
	return runcommand.Run(ctx, o)
}

// pluginCopies is where the plugins are that sandboxes show.
func (r *foreground) pluginCopies() string { return plugin.CopiesDir(r.std.Env("HOME"), r.std.Env) }

// assigned shows the work of a sub-agent.
func (r *foreground) assigned(child *session.Conversation) {
	if r.watch != nil {
		r.watch(child)
		return
	}
	if r.view != nil {
		r.view.Assigned(child)
	}
}

// releaseAfter is when a run gives back memory that only its start needed: it has mostly
// sent its first request by then, and waits.
const releaseAfter = 100 * time.Millisecond

// releaseStart gives back memory that only a start needed, which is more than half of the
// memory of an idle server.
func releaseStart(log *slog.Logger) {
	if err := startpages.Release(); err != nil {
		log.Debug("give memory back", "error", err)
	}
}

// open opens the sessions, and their builder. The caller closes the sessions
// first.
func (r *foreground) open(models session.Models, log *slog.Logger) (_ *build.Builder, _ *session.Manager, err error) {
	ring, err := config.OpenRing(r.std.Env, r.paths.data, r.std.tell)
	if err != nil {
		return nil, nil, err
	}
	classes, err := r.api.classes(r.std.Env)
	if err != nil {
		return nil, nil, err
	}
	builder, err := build.New(build.Options{
		Classes: classes, Program: sandboxProgram,
		Dir: r.paths.store(), SandboxDir: r.paths.sandboxes(), Hidden: append(existing(userDirs(r.std.Env)...), r.paths.data),
		Store: r.store, OneUser: true, Plugins: r.pluginCopies(),
		Grace: max(r.grace, time.Second), Defaults: r.placement(), Log: log,
		Logins: func(ctx context.Context, _ identity.Tenant) (mcp.Logins, error) {
			s, err := openSettings(ctx, r.std)
			if err != nil {
				return nil, err
			}
			return s, nil
		},
	})
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, builder.Close())
		}
	}()
	locks, err := conversationlock.Open(r.paths.store())
	if err != nil {
		return nil, nil, err
	}
	home := cmp.Or(r.std.Env("HOME"), r.paths.data) // an empty one would be the working directory
	persistence, err := config.PersistenceDir(r.std.Env)
	if err != nil { // there is no home
		persistence = r.paths.data
	}
	saved := newSavedProfiles(r.std)
	o := session.Options{
		Store: r.store, Lock: locks, Dir: r.paths.store(), Ring: ring, Models: models, Builder: builder, View: view.OpenHands{},
		Files: session.Worktrees{
			PlainDirectories: session.PlainDirectories{Skills: skill.NewCatalog(home, persistence, r.std.Env("EXTENSIONS_PATH"))},
			Root:             r.paths.worktrees(),
		},
		SubAgents: subagent.NewCatalog(home, persistence),
		Plugins:   plugin.NewCatalog(home, persistence, r.pluginCopies()),
		Settings:  saved,
		Memories:  saved,
		Assigned:  r.assigned,
		IdleTTL:   -1, // the important part of its log is in the events, which the view shows

		HoldQueues: true,
	}
	if r.checkpoints != session.CheckpointsOff && checkpoint.Available() {
		o.Checkpoints, o.CheckpointTimes = r.paths.checkpoints(), r.checkpoints
	}
	sessions, err := session.Open(o)
	if err != nil {
		return nil, nil, errors.Join(err, locks.Close())
	}
	return builder, sessions, nil
}

// existing are the directories of a list that are there.
func existing(dirs ...string) (out []string) {
	for _, dir := range dirs {
		if info, err := os.Stat(dir); err == nil && info.IsDir() && filepath.IsAbs(dir) {
			out = append(out, dir)
		}
	}
	return out
}

// userDirs are the directories of the user's settings, profiles and secrets.
func userDirs(env func(string) string) []string {
	dirs := []string{llm.UserDir(env)}
	if dir, err := config.PersistenceDir(env); err == nil { // without a home there is none
		dirs = append(dirs, dir)
	}
	return dirs
}

// portFlags say who reaches whom by name and port.
type portFlags struct {
	AddHost []sandbox.ExtraHost `name:"add-host" help:"A name that a container knows the address of, for example of a database that --net names too. May be repeated; kept with the conversation." placeholder:"NAME:ADDRESS" sep:"none"`
	Publish []portforward.Port  `short:"p" help:"Port of the sandbox that is reached from this machine while the run lasts: PORT, LOCAL:PORT or ADDRESS:LOCAL:PORT; without an address of 127.0.0.1 only, and 0 for LOCAL takes a free one. May be repeated." placeholder:"PORT" sep:"none"`
}

// publish passes the ports of --publish on to the sandbox of a conversation until the
// function that it returns is called.
func (r *foreground) publish(ctx context.Context, builder *build.Builder, sessions *session.Manager, id event.ConversationID) (stop func() error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // a run that is stopped ends its command first
	dial := func(ctx context.Context, port int) (portforward.Target, error) {
		return dialSandbox(ctx, builder, sessions, id, port)
	}
	refused := func(err error) { r.view.Warn("a published port: " + console.Line(err.Error())) }
	served := make(chan error, 1)
	go func() { served <- r.published.Serve(ctx, dial, refused) }()
	for _, p := range r.published.Ports() {
		r.view.Warn(p.String())
	}
	return func() error {
		cancel()
		return <-served
	}
}

// link connects to the sandbox of a conversation. NotFound if it does not run.
func link(ctx context.Context, builder *build.Builder, sessions *session.Manager, id event.ConversationID) (*remote.Runtime, error) {
	conv, err := sessions.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	return builder.Link(ctx, conv.SandboxRequest())
}

// dialSandbox connects to a port in the sandbox that the conversation has now: it may be
// another one than before.
func dialSandbox(ctx context.Context, builder *build.Builder, sessions *session.Manager, id event.ConversationID, port int) (portforward.Target, error) {
	rt, err := link(ctx, builder, sessions, id)
	if fault.Is(err, fault.NotFound) {
		return nil, fault.New(fault.NotFound, "the sandbox does not run yet")
	}
	if err != nil {
		return nil, err
	}
	conn, err := rt.DialPort(ctx, port)
	if err != nil {
		return nil, errors.Join(err, rt.Close())
	}
	return published{conn, rt}, nil
}

// published is a connection with the link that it goes over.
type published struct {
	portforward.Target
	link *remote.Runtime
}

// Close ends both.
func (p published) Close() error { return errors.Join(p.Target.Close(), p.link.Close()) }

// opened has the sessions of a data directory, for a command about one conversation.
type opened struct {
	paths    paths
	store    *sqlite.Store
	builder  *build.Builder
	sessions *session.Manager
	id       event.ConversationID
}

// withSessions opens the sessions for a command and closes them after. name is the
// conversation's, "" for none.
func withSessions(ctx context.Context, std *streams, g *globalFlags, name string, log *slog.Logger, do func(opened) error) error {
	return withStore(ctx, std, g, func(p paths, s *sqlite.Store) (err error) {
		o := opened{paths: p, store: s}
		if name != "" {
			if o.id, err = conversations.Resolve(ctx, s, name); err != nil {
				return err
			}
		}
		r := newForeground(std, p, s, nil)
		if o.builder, o.sessions, err = r.open(r.models, log); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, o.sessions.Close(context.WithoutCancel(ctx)), o.builder.Close()) }()
		return do(o)
	})
}

// silent is the log of commands that report their errors themselves.
var silent = slog.New(slog.DiscardHandler)

// conversationsOf opens stored conversations for a command.
func conversationsOf(ctx context.Context, std *streams, g *globalFlags) undo.With {
	return func(name string, do func(*session.Conversation) error) error {
		log := slog.New(slog.NewTextHandler(std.Err, &slog.HandlerOptions{Level: slog.LevelWarn}))
		return withSessions(ctx, std, g, name, log, func(o opened) error {
			conv, err := o.sessions.Get(ctx, o.id)
			if err == nil {
				err = do(conv)
			}
			if errors.Is(err, session.ErrLocked) {
				return runcommand.Held(ctx, o.store, o.id)
			}
			return err
		})
	}
}
