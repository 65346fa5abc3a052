package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/deft-dev/deft/checkpoint"
	"github.com/deft-dev/deft/cli/runcommand"
	"github.com/deft-dev/deft/eventstream/sqlite"
	"github.com/deft-dev/deft/internal/portforward"
	"github.com/deft-dev/deft/internal/startpages"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/broker"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/server/agentserver/config"
	"github.com/deft-dev/deft/server/view"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/session/build"
	"github.com/deft-dev/deft/session/conversationlock"
	"github.com/deft-dev/deft/skill"
	"github.com/deft-dev/deft/subagent"
)

// foreground has the parts of one conversation that runs in the foreground, for
// `deft run` and `deft demo`.
type foreground struct {
	std     *streams
	paths   paths
	store   *sqlite.Store
	view    *runcommand.View
	models  *runModels
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
	return &foreground{
		std: std, paths: p, store: store, view: view, sandbox: autoSandbox, grace: build.DefaultGrace,
		checkpoints: session.CheckpointTurns, published: &portforward.Open{},
		api: runtimeAPIFromEnvironment(std.Env),
		models: &runModels{
			by:       sync.OnceValues(func() (*opener, error) { return newOpener(std) }),
			breakers: broker.NewBreakers(broker.BreakerOptions{Failures: failures}),
			renewed:  map[llm.Secret]func() (llm.Secret, error){},
		},
	}
}

// placement is the placement of a new conversation, and of one that names none.
func (r *foreground) placement() session.Placement {
	p := session.Placement{Network: r.network, Limits: r.limits, Readable: r.read, Writable: r.write}
	p.Env, p.SecretEnv = r.env, r.secretEnv
	r.isolate(&p)
	p = build.FromEnvironment(p, r.std.Env)
	p.ExecutorClass = first(r.executor, p.ExecutorClass)
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
	return sandbox.Choice{Name: first(p.Isolation, class.Name), Class: class, Level: p.Isolation}
}

// dropLimits drops limits that a class cannot be given.
func (r *foreground) dropLimits(class sandbox.Class) {
	if !class.Has(sandbox.FeatureNetwork) {
		r.network = ""
	}
	if !class.Has(sandbox.FeatureLimits) {
		r.limits = sandbox.Limits{}
	}
	if !class.Has(sandbox.FeatureGrants) {
		r.read, r.write = nil, nil
	}
}

// run opens the sessions and runs.
func (r *foreground) run(ctx context.Context, o runcommand.Options) (err error) {
	log := r.view.Log()
	r.models.log = log
	builder, sessions, err := r.open(r.view.Watch(r.models), log)
	if err != nil {
		return errors.Join(err, r.published.Close())
	}
	defer func() { err = errors.Join(err, sessions.Close(context.WithoutCancel(ctx)), builder.Close()) }()
	unpublish := r.publish(ctx, builder, sessions, o.ID)
	defer func() { err = errors.Join(err, unpublish()) }()
	o.Sessions, o.View, o.Keep = sessions, r.view, r.grace > 0
	// The model answers now, or soon.
	release := time.AfterFunc(releaseAfter, func() {
		if err := startpages.Release(); err != nil {
			log.Debug("give memory back", "error", err)
		}
	})
	defer release.Stop()
	return runcommand.Run(ctx, o)
}

// releaseAfter is when a run gives back memory that only its start needed: it has mostly
// sent its first request by then, and waits.
const releaseAfter = 100 * time.Millisecond

// open opens the sessions, and their builder. The caller closes the sessions
// first.
func (r *foreground) open(models session.Models, log *slog.Logger) (_ *build.Builder, _ *session.Manager, err error) {
	ring, err := openRing(r.std, r.paths.data)
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
		Store: r.store, OneUser: true,
		Grace: max(r.grace, time.Second), Defaults: r.placement(), Log: log,
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
	home := first(r.std.Env("HOME"), r.paths.data) // an empty one would be the working directory
	persistence, err := config.PersistenceDir(r.std.Env)
	if err != nil { // there is no home
		persistence = r.paths.data
	}
	o := session.Options{
		Store: r.store, Lock: locks, Dir: r.paths.store(), Ring: ring, Models: models, Builder: builder, View: view.OpenHands{},
		Files: session.Worktrees{
			PlainDirectories: session.PlainDirectories{Skills: skill.NewCatalog(home, persistence, r.std.Env("EXTENSIONS_PATH"))},
			Root:             r.paths.worktrees(),
		},
		SubAgents: subagent.NewCatalog(home, persistence, nil),
		IdleTTL:   -1, // the important part of its log is in the events, which the view shows
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
