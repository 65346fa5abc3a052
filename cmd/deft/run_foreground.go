package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream/sqlite"
	"github.com/deft-dev/deft/internal/agentserver/config"
	"github.com/deft-dev/deft/internal/conversationlock"
	"github.com/deft-dev/deft/internal/runcommand"
	"github.com/deft-dev/deft/internal/settings/profiles"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/broker"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/session/build"
	"github.com/deft-dev/deft/skill"
)

// foreground is what one conversation that runs in the foreground needs, for
// `deft run` and `deft demo`.
type foreground struct {
	std     *streams
	paths   paths
	store   *sqlite.Store
	view    *runcommand.View
	models  runModels
	sandbox string // level of isolation
	network bool
	grace   time.Duration
	task    string
}

// placement is that of a new conversation, and of one that names none.
func (r *foreground) placement() session.Placement {
	p := session.Placement{SandboxClass: build.ProcessSandbox, Isolation: r.sandbox, Network: r.network}
	return build.FromEnvironment(p, r.std.env)
}

// run opens the sessions and runs.
func (r *foreground) run(ctx context.Context, o runcommand.Options) (err error) {
	ring, err := openRing(r.std, r.paths.data)
	if err != nil {
		return err
	}
	log := r.view.Log()
	r.models.stored = profileModels{
		build.NewModels(log), func() (*profiles.Stores, error) { return openProfiles(r.std) },
		broker.NewBreakers(broker.BreakerOptions{Failures: failures}),
	}
	builder, err := build.New(build.Options{
		Dir: r.paths.store(), SandboxDir: r.paths.sandboxes(), Hidden: append(existing(userDirs(r.std.env)...), r.paths.data),
		Grace: max(r.grace, time.Second), Defaults: r.placement(), Log: log,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, builder.Close()) }()
	locks, err := conversationlock.Open(r.paths.store())
	if err != nil {
		return err
	}
	home := first(r.std.env("HOME"), r.paths.data) // an empty one would be the working directory
	persistence, err := config.PersistenceDir(r.std.env)
	if err != nil { // there is no home
		persistence = r.paths.data
	}
	sessions, err := session.Open(session.Options{
		Store: r.store, Lock: locks, Dir: r.paths.store(), Ring: ring, Models: r.view.Watch(&r.models), Builder: builder,
		Files:   session.PlainDirectories{Skills: skill.NewCatalog(home, persistence, r.std.env("EXTENSIONS_PATH"))},
		IdleTTL: -1, // what matters of its log is in the events, which the view shows
	})
	if err != nil {
		return errors.Join(err, locks.Close())
	}
	defer func() { err = errors.Join(err, sessions.Close(context.WithoutCancel(ctx))) }()
	o.Sessions, o.View, o.Keep = sessions, r.view, r.grace > 0
	return runcommand.Run(ctx, o)
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

// options says what the flags make of a run. A new conversation, with its
// models, is checked here, before anything is stored.
func (c *runCmd) options(ctx context.Context, r *foreground) (o runcommand.Options, err error) {
	o = runcommand.Options{Task: r.task, Confirm: c.Confirm}
	if c.Replay != "" {
		defer func() { // what is wrong with other flags is said first
			if err == nil {
				o.Replay, err = readTrajectory(c.Replay)
			}
		}()
	}
	if r.std.inTTY && (r.std.errTTY || r.std.outTTY) {
		o.Prompter = runcommand.NewPrompter(r.std.in, r.view.Prompts())
	}
	if c.Export != "" {
		o.Done = func(ctx context.Context) error { return exportTrajectory(ctx, r.store, o.ID, c.Export) }
	}
	if o.Secrets, err = c.secrets(r.std); err != nil {
		return o, err
	}
	if c.Resume == "" {
		o.ID = event.NewConversationID()
		s, err := c.spec(ctx, r, o, "")
		o.Spec = func() (session.Spec, error) { return s, err }
		return o, err
	}
	if o.ID, err = resolve(ctx, r.store, c.Resume); err != nil {
		return o, err
	}
	info, err := r.store.Info(ctx, o.ID)
	if err != nil {
		return o, err
	}
	o.Resume = true
	o.Spec = func() (session.Spec, error) { return c.spec(ctx, r, o, info.Meta.WorkingDir) }
	o.Change = func(conv *session.Conversation) (session.Changes, error) { return c.changes(ctx, r, conv) }
	return o, nil
}

// workspace is the directory of a flag, or else another.
func (c *runCmd) workspace(r *foreground, or string) (string, error) {
	return runcommand.Workspace(first(c.Workspace, or), r.paths.data, r.std.env("HOME"))
}

// spec is what a new conversation is made from. dir, unless empty, is where an
// imported one worked.
func (c *runCmd) spec(ctx context.Context, r *foreground, o runcommand.Options, dir string) (session.Spec, error) {
	if err := c.choose(r.std); err != nil {
		return session.Spec{}, err
	}
	dir, err := c.workspace(r, first(dir, "."))
	if err != nil {
		return session.Spec{}, err
	}
	var models runcommand.Models
	if c.Replay == "" || r.task != "" {
		if models, err = c.useModels(ctx, r); err != nil {
			return session.Spec{}, err
		}
	}
	servers, err := c.servers(ctx, r, o, dir)
	if err != nil {
		return session.Spec{}, err
	}
	s := session.Spec{
		ID: o.ID, Title: runcommand.Title(r.task), Setup: session.DefaultSetup(), Secrets: o.Secrets,
		Placement: r.placement(), MaxCost: c.MaxCost,
	}
	s.Workspace.WorkingDir, s.MaxIterations, s.Autotitle = dir, c.MaxIterations, false
	s.Policy, s.Analyzer = runcommand.ConfirmationOf(c.Confirm)
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
	if c.Replay != "" && r.task == "" {
		return nil, nil // nothing would call them
	}
	return runcommand.Project{Dir: dir, Answers: r.paths.mcpAnswers(), Prompter: o.Prompter, Tell: r.view.Warn}.Servers(ctx)
}

// changes is what the flags change about a stored conversation. It keeps what
// they do not name.
func (c *runCmd) changes(ctx context.Context, r *foreground, conv *session.Conversation) (ch session.Changes, err error) {
	dir, err := c.workspace(r, conv.Workspace())
	if err != nil {
		return ch, err
	}
	ch = session.Changes{WorkingDir: dir, MaxIterations: c.MaxIterations, MaxCost: &c.MaxCost}
	if p := conv.Placement(); p.SandboxClass != "" {
		if r.sandbox != "auto" || p.Isolation == "" || p.SandboxClass != build.ProcessSandbox {
			p.Isolation = r.sandbox
		}
		p.SandboxClass, p.RuntimeClass, p.Network = build.ProcessSandbox, "", p.Network || r.network
		ch.Placement = &p
	}
	models, note, err := c.modelsOf(ctx, r, conv)
	if err != nil {
		return ch, err
	}
	servers, err := runcommand.ReadServers(c.MCPConfig...)
	if err != nil {
		return ch, err
	}
	if note != nil {
		if ch.Note, err = note.encode(); err != nil {
			return ch, err
		}
	}
	ch.Agent, err = runcommand.UpdateAgent(conv.Agent(), models, note != nil, servers)
	return ch, err
}
