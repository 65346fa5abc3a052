package conversation

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/agentserver/rest"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/state"
)

// Create makes the conversation that a request asks for, or returns the one
// that has its id already: then made is false, and nothing of the request is
// done. Callers with one id at the same time get one conversation.
func (m *Manager) Create(ctx context.Context, r *StartRequest) (c *Conversation, made bool, err error) {
	if err := r.check(); err != nil {
		return nil, false, err
	}
	id := event.NewConversationID()
	if r.ConversationID != "" {
		id, _ = event.ParseConversationID(r.ConversationID) // checked
	}
	e := m.hold(id)
	c = e.c
	if c == nil && r.ConversationID != "" {
		if c, err = m.load(ctx, id); fault.Is(err, fault.NotFound) {
			c, err = nil, nil
		}
	}
	if c == nil && err == nil {
		c, err = m.make(ctx, id, r)
		made = err == nil
	}
	m.letGo(id, e, c)
	if err != nil {
		return nil, false, err
	}
	c.touch()
	if made {
		err = c.greet(ctx, r)
	}
	return c, made, err
}

// greet does what a request wants done with the new conversation.
func (c *Conversation) greet(ctx context.Context, r *StartRequest) error {
	if c.m.o.Shown != nil {
		c.mu.Lock()
		raw, err := c.fullState(&state.State{Status: state.Idle})
		c.mu.Unlock()
		if err != nil {
			return err
		}
		c.m.o.Shown(c.id, raw)
	}
	if c.m.o.Changed != nil {
		c.mu.Lock() // clients who chose its id can use it by now
		described := c.snapshot
		c.mu.Unlock()
		c.m.o.Changed(c.id, described)
	}
	if r.InitialMessage == nil {
		return nil
	}
	msg := *r.InitialMessage
	msg.Run = true
	return c.Send(ctx, msg)
}

// make stores a new conversation.
func (m *Manager) make(ctx context.Context, id event.ConversationID, r *StartRequest) (*Conversation, error) {
	parent, err := m.checkParent(ctx, r)
	if err != nil {
		return nil, err
	}
	if r.InitialMessage != nil && m.full() {
		return nil, errCapacity
	}
	l, err := m.o.Resolve(ctx, r)
	if err != nil {
		return nil, err
	}
	c := &Conversation{m: m, id: id, meta: eventstream.Meta{Tags: maps.Clone(r.Tags), Parent: parent}}
	if c.cfg, err = configOf(r, l); err != nil {
		return nil, err
	}
	if m.o.CheckClientTool != nil {
		for _, raw := range r.ClientTools {
			if err := m.o.CheckClientTool(raw); err != nil {
				return nil, err
			}
		}
	}
	if err := c.setAgent(l.Agent); err != nil {
		return nil, err
	}
	if err := c.firstSecrets(r); err != nil {
		return nil, placed(err, "secrets")
	}
	c.cfg.ToolModules = maps.Clone(r.ToolModules)
	if m.o.Modules != nil {
		if c.cfg.ToolModules == nil {
			c.cfg.ToolModules = map[string]string{}
		}
		maps.Copy(c.cfg.ToolModules, m.o.Modules(l.Agent))
	}
	if err := m.prepareWorkspace(ctx, id, r, &c.cfg); err != nil {
		return nil, err
	}
	c.meta.WorkingDir = c.cfg.Workspace.WorkingDir
	return c, c.storeNew(ctx)
}

// storeNew stores a conversation that has no events yet.
func (c *Conversation) storeNew(ctx context.Context) (err error) {
	c.created = time.Now()
	c.cfg.Created = c.created
	c.snapshot, err = c.describe(&state.State{Status: state.Idle}, c.created, c.created)
	if err != nil {
		return err
	}
	c.pathRules = emptyList
	s := stored{Config: c.cfg, Snapshot: c.snapshot, PathRules: c.pathRules}
	meta, err := s.encode(c.meta)
	if err != nil {
		return err
	}
	return c.m.o.Stream.Create(ctx, c.id, meta)
}

func (m *Manager) full() bool { return m.runs != nil && len(m.runs) == cap(m.runs) }

// checkParent holds that a parent exists and works in the same place.
func (m *Manager) checkParent(ctx context.Context, r *StartRequest) (event.ConversationID, error) {
	if r.ParentConversationID == "" {
		return "", nil
	}
	id, _ := event.ParseConversationID(r.ParentConversationID) // checked
	p, err := m.Get(ctx, id)
	if fault.Is(err, fault.NotFound) {
		return "", rest.Fail(422, "Parent conversation "+string(id)+" not found")
	}
	if err != nil {
		return "", err
	}
	if p.Workspace() != r.Workspace.WorkingDir {
		return "", rest.Fail(422, "Parent conversation "+string(id)+" has another workspace")
	}
	return id, nil
}

func configOf(r *StartRequest, l *Launch) (config, error) {
	cfg := config{
		Workspace: *r.Workspace, MaxIterations: 500, StuckDetection: true,
		Policy:   orDefault(noNull(r.ConfirmationPolicy), json.RawMessage(`{"kind":"NeverConfirm"}`)),
		Analyzer: noNull(r.SecurityAnalyzer), ClientTools: r.ClientTools, HookConfig: noNull(r.HookConfig),
		UserID: r.UserID, Autotitle: r.Autotitle == nil || *r.Autotitle, TitleProfile: r.TitleProfile,
		LaunchedProfile: l.Profile, SecretRefs: l.SecretRefs,
	}
	if r.Prompt != nil {
		cfg.TitlePrompt = *r.Prompt
	}
	if r.MaxIterations != nil {
		cfg.MaxIterations = *r.MaxIterations
	}
	if r.StuckDetection != nil {
		cfg.StuckDetection = *r.StuckDetection
	}
	var err error
	if cfg.Policy, err = normalPolicy(cfg.Policy); err != nil {
		return cfg, placed(err, keyPolicy)
	}
	if cfg.Analyzer, err = normalAnalyzer(cfg.Analyzer); err != nil {
		return cfg, placed(err, keyAnalyzer)
	}
	return cfg, nil
}

// prepareWorkspace makes the directory in which a conversation works.
func (m *Manager) prepareWorkspace(ctx context.Context, id event.ConversationID, r *StartRequest, cfg *config) error {
	dir, err := cfg.Workspace.dir()
	if err != nil {
		return schema.Invalid("working_dir cannot be used", cfg.Workspace.WorkingDir, "body", "workspace", "working_dir")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fault.Wrap(err, fault.Invalid, "make the workspace "+dir)
	}
	if r.Worktree && m.o.Worktree != nil {
		root, work, err := m.o.Worktree(ctx, dir, id, r.WorktreeOptions)
		if err != nil {
			return err
		}
		cfg.Worktree, cfg.Workspace.WorkingDir = root, work
	}
	if cfg.Worktree == "" && m.o.Repository != nil {
		if err := m.o.Repository(ctx, dir); err != nil { // it works without
			m.o.Log.Warn("make the workspace a git repository", "conversation", id, "err", err)
		}
	}
	return nil
}

// Delete stops a conversation and removes it. NotFound if there is none.
func (m *Manager) Delete(ctx context.Context, id event.ConversationID) error {
	c, err := m.Get(ctx, id)
	if err != nil {
		return err
	}
	if w := c.open.Load(); w != nil {
		if _, err := c.halt(ctx, w, interrupting); err != nil {
			m.o.Log.Warn("stop a conversation that is deleted", "conversation", id, "err", err)
		}
		if err := c.Wait(ctx); err != nil {
			return err
		}
	}
	e := m.hold(id)
	if c.open.Load() == nil { // what another server works on is not for this one to delete
		release, err := m.lease(id)
		if err != nil {
			m.letGo(id, e, e.c)
			return err
		}
		defer release()
	}
	m.tellDeleted(ctx, c)
	err = c.close(ctx)
	if derr := m.o.Stream.Delete(ctx, id); derr != nil {
		m.letGo(id, e, e.c)
		return derr
	}
	m.letGo(id, e, nil)
	if err != nil {
		m.o.Log.Warn("let go of a deleted conversation", "conversation", id, "err", err)
	}
	if m.o.Deleted != nil { // first, because it ends what still writes files
		if err := m.o.Deleted(ctx, id); err != nil {
			m.o.Log.Warn("remove what is kept for a conversation", "conversation", id, "err", err)
		}
	}
	if err := os.RemoveAll(filepath.Join(m.o.Dir, id.Hex())); err != nil {
		m.o.Log.Warn("remove the files of a conversation", "conversation", id, "err", err)
	}
	return m.dropWorktree(ctx, c.cfg.Worktree)
}

// lastDelivery is how long a deletion waits for those who are told of events.
const lastDelivery = 5 * time.Second

func (m *Manager) tellDeleted(ctx context.Context, c *Conversation) {
	if m.o.Changed == nil {
		return
	}
	s := *c.lastState(ctx)
	s.Status = state.Deleting
	c.mu.Lock()
	raw, err := c.describe(&s, c.created, time.Now())
	c.mu.Unlock()
	if err == nil {
		m.o.Changed(c.id, raw)
	}
	if m.o.Deliver == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, lastDelivery)
	defer cancel()
	if err := m.o.Deliver(ctx, c.id); err != nil {
		m.o.Log.Warn("deliver the last events of a conversation", "conversation", c.id, "err", err)
	}
}

// ForkRequest says how a fork differs from its source
// (docs/openhands/sdk-wire.md section 4).
type ForkRequest struct {
	ID           string            `json:"id"`
	Title        string            `json:"title"`
	Tags         map[string]string `json:"tags"`
	ResetMetrics *bool             `json:"reset_metrics"`
	From         event.ID          `json:"from_event_id"`
}

// Fork makes a conversation that shares the events up to one of this one.
// Conflict if the id is taken.
func (c *Conversation) Fork(ctx context.Context, r ForkRequest) (*Conversation, error) {
	id := event.NewConversationID()
	if r.ID != "" {
		if wrong := plainID(&r.ID, "id"); wrong != nil {
			return nil, wrong
		}
		id, _ = event.ParseConversationID(r.ID) // checked
	}
	w, err := c.begin(ctx)
	if err != nil {
		return nil, err
	}
	m := c.m
	e := m.hold(id)
	var f *Conversation
	if e.c != nil {
		err = fault.New(fault.Conflict, "Conversation with id "+string(id)+" already exists")
		m.letGo(id, e, e.c)
		return nil, err
	}
	f, err = c.forkTo(ctx, w, id, r)
	m.letGo(id, e, f)
	return f, err
}

func (c *Conversation) forkTo(ctx context.Context, w *work, id event.ConversationID, r ForkRequest) (*Conversation, error) {
	c.mu.Lock()
	f := &Conversation{m: c.m, id: id, cfg: c.cfg, agent: c.agent, shown: c.shown, created: time.Now()}
	f.meta = eventstream.Meta{
		Title: r.Title, Tags: maps.Clone(r.Tags), WorkingDir: c.meta.WorkingDir, ForkOf: c.id,
	}
	c.mu.Unlock()
	f.cfg.SubConversations, f.cfg.ForkedAt, f.cfg.Created = nil, r.From, f.created
	s := stored{Config: f.cfg}
	meta, err := s.encode(f.meta)
	if err != nil {
		return nil, err
	}
	keep := r.ResetMetrics != nil && !*r.ResetMetrics
	err = w.Controller.Fork(ctx, id, forkOptions(r.From, keep, meta))
	switch {
	case fault.Is(err, fault.NotFound):
		return nil, fault.New(fault.NotFound, "Unknown from_event_id: "+string(r.From))
	case fault.Is(err, fault.Conflict):
		return nil, fault.New(fault.Conflict, "Conversation with id "+string(id)+" already exists")
	case err != nil:
		return nil, err
	}
	f.touch()
	return f, f.openSecrets(f.cfg.Secrets)
}
