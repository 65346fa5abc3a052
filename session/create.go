package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/internal/rawjson"
	"github.com/deft-dev/deft/internal/realpath"
	"github.com/deft-dev/deft/internal/workspacedir"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/state"
)

// Create makes a conversation, or returns the one that has its id already: then
// made is false, and nothing of the specification is done. Concurrent callers
// with one id get one conversation.
func (m *Manager) Create(ctx context.Context, s Spec) (c *Conversation, made bool, err error) {
	id := s.ID
	if id == "" {
		id = event.NewConversationID()
	}
	e := m.hold(id)
	c = e.c
	if c == nil && s.ID != "" {
		if c, err = m.load(ctx, id); fault.Is(err, fault.NotFound) {
			c, err = nil, nil
		}
	}
	if c == nil && err == nil {
		c, err = m.make(ctx, id, s)
		made = err == nil
	}
	m.release(id, e, c)
	if err != nil {
		return nil, false, err
	}
	c.use.touch()
	if made {
		err = m.begin(ctx, c, s.Message)
	}
	return c, made, err
}

// begin notifies the observer of a new conversation and sends its first message, if there is
// one.
func (m *Manager) begin(ctx context.Context, c *Conversation, first *Message) error {
	if m.o.Observer != nil {
		if err := c.publish.made(); err != nil {
			return err
		}
	}
	if first == nil {
		return nil
	}
	msg := *first
	msg.Run = true
	return c.Send(ctx, msg)
}

// DescribeNew is [Conversation.Describe] for a conversation that [Manager.Create]
// has just made without a message: the store is not asked.
func (c *Conversation) DescribeNew() (json.RawMessage, error) {
	c.mu.Lock()
	created := c.created
	c.mu.Unlock()
	return c.describe(&state.State{Status: state.Idle}, created, false)
}

// make stores a new conversation.
func (m *Manager) make(ctx context.Context, id event.ConversationID, s Spec) (*Conversation, error) {
	if err := m.checkParent(ctx, s); err != nil {
		return nil, err
	}
	if s.Message != nil && m.full() {
		return nil, ErrCapacity
	}
	c, err := m.prepare(ctx, id, s)
	if err != nil {
		return nil, err
	}
	if err := c.storeNew(ctx); err != nil {
		return nil, err
	}
	if s.Parent != "" {
		m.tellParent(ctx, s.Parent, id)
	}
	return c, nil
}

// tellParent notes a conversation in its parent. One that is not noted works, too: it has
// the parent's id.
func (m *Manager) tellParent(ctx context.Context, parent, id event.ConversationID) {
	p, err := m.Get(ctx, parent)
	if err == nil {
		err = p.addChild(ctx, id)
	}
	if err != nil {
		m.o.Log.Warn("a conversation is not listed in its parent", "conversation", id, "parent", parent, "err", err)
	}
}

// prepare makes a conversation in memory, and the directory where it works.
func (m *Manager) prepare(ctx context.Context, id event.ConversationID, s Spec) (*Conversation, error) {
	if s.Agent == nil {
		return nil, fault.New(fault.Invalid, "a conversation needs an agent")
	}
	c := newConversation(m, id)
	c.meta = eventstream.Meta{Owner: string(s.Owner), Title: s.Title, Tags: maps.Clone(s.Tags), Parent: s.Parent}
	if c.meta.Owner == "" {
		c.meta.Owner = string(identity.LocalTenant)
	}
	c.rec = record{
		Setup: s.Setup, Placement: s.Placement, Repository: s.Repository, MaxCost: s.MaxCost, OwnersModel: s.OwnersModel, Warnings: s.Warnings, SecretRefs: s.SecretRefs, Profile: s.Profile,
		Note: s.Note, Agents: s.Agents, AllowedAgents: s.AllowedAgents, Plugins: s.Plugins, NoPlugins: s.NoPlugins, SetUp: s.SetUp, AskSetUp: s.AskSetUp, Organisation: s.Organisation, Asked: s.Asked,
	}
	c.rec.Workspace.Kind = "LocalWorkspace"
	var err error
	if c.rec.ProjectHooks, err = s.ProjectHooks.recorded(); err != nil {
		return nil, err
	}
	if c.rec.Policy, err = normalPolicy(c.rec.Policy); err != nil {
		return nil, located(err, keyPolicy)
	}
	if c.rec.Analyzer, err = c.setAnalyzer(rawjson.NoNull(c.rec.Analyzer)); err != nil {
		return nil, located(err, keyAnalyzer)
	}
	if err := c.setAgent(s.Agent); err != nil {
		return nil, err
	}
	if err := c.sealServers(); err != nil {
		return nil, err
	}
	if err := c.firstSecrets(s.Secrets, s.SecretsSealed); err != nil {
		return nil, located(err, "secrets")
	}
	if err := m.prepareWorkspace(ctx, id, s.Worktree, &c.rec); err != nil {
		return nil, err
	}
	c.meta.WorkingDir = c.rec.Workspace.WorkingDir
	return c, nil
}

// storeNew stores a conversation that has no events yet.
func (c *configuration) storeNew(ctx context.Context) error {
	c.created = time.Now()
	c.meta.Created = c.created
	if err := c.summarize(&state.State{Status: state.Idle}, c.created); err != nil {
		return err
	}
	meta, err := c.encodeMeta()
	if err != nil {
		return err
	}
	if err = c.m.o.Store.Create(ctx, c.id, meta); err != nil && c.rec.Worktree != "" {
		err = errors.Join(err, c.m.o.Files.RemoveWorktree(context.WithoutCancel(ctx), c.rec.Worktree))
	}
	return err
}

// A run at its end does not count: see [Manager.awaitPermit].
func (m *Manager) full() bool { return m.allPermits() && m.ending() == nil }

// checkParent holds that a parent exists and works in the same directory.
func (m *Manager) checkParent(ctx context.Context, s Spec) error {
	if s.Parent == "" {
		return nil
	}
	p, err := m.Get(ctx, s.Parent)
	switch {
	case fault.Is(err, fault.NotFound):
		return fault.New(fault.Invalid, "Parent conversation "+string(s.Parent)+" not found")
	case err != nil:
		return err
	case p.Workspace() != s.Workspace.WorkingDir:
		return fault.New(fault.Invalid, "Parent conversation "+string(s.Parent)+" has another workspace")
	}
	return nil
}

// located makes a violation of an error about a field of a specification.
func located(err error, field string) error {
	var v schema.Violations
	if fault.Is(err, fault.Invalid) && !errors.As(err, &v) {
		return schema.Invalid(err.Error(), nil, "body", field)
	}
	return err
}

// errNoWorktree refuses a worktree of a repository that this machine does not have.
var errNoWorktree error = schema.Invalid("a worktree cannot be made: the workspace is inside the sandbox", nil, "body", "worktree")

// prepareWorkspace makes the directory in which a conversation works.
func (m *Manager) prepareWorkspace(ctx context.Context, id event.ConversationID, o *WorktreeOptions, rec *record) error {
	dir, err := rec.Workspace.dir()
	if err != nil {
		return schema.Invalid("working_dir cannot be used", rec.Workspace.WorkingDir, "body", "workspace", "working_dir")
	}
	switch inside, err := m.o.Builder.WorkspaceInside(rec.Placement); {
	case err != nil:
		return err
	case inside && o != nil:
		return errNoWorktree
	case inside: // its sandbox makes it
		rec.Workspace.WorkingDir = dir
		return nil
	}
	dir = realpath.Resolve(dir)
	if err := m.o.Files.Prepare(ctx, dir, o == nil); err != nil {
		if fault.Is(err, fault.Invalid) {
			return schema.Invalid(err.Error(), rec.Workspace.WorkingDir, "body", "workspace", "working_dir")
		}
		return err
	}
	work := dir
	if o != nil {
		if rec.Worktree, work, err = m.o.Files.AddWorktree(ctx, dir, id, o); err != nil {
			return err
		}
		if rec.Worktree == "" {
			if err := m.o.Files.Prepare(ctx, dir, true); err != nil {
				return err
			}
		} else {
			rec.Workspace.WorkingDir, rec.Origin = work, dir
		}
	}
	if rec.Directory, err = workspacedir.Identify(work); err == nil && work == dir && rec.Directory.Path != dir {
		err = schema.Invalid("working_dir was replaced by a link", rec.Workspace.WorkingDir, "body", "workspace", "working_dir")
	}
	return err
}

// CheckWorkspace returns an error of kind Invalid if the directory of the
// conversation has been replaced since it was made: by another one, or by a link.
// One that is gone is not replaced.
func (c *configuration) CheckWorkspace() error {
	if inside, err := c.WorkspaceInside(); err != nil || inside {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rec.checkDirectory()
}

func (r *record) checkDirectory() error {
	err := r.Directory.Verify(r.Workspace.WorkingDir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// Delete stops a conversation and removes it. NotFound if there is none. left names the parts
// of a deleted conversation that could not be removed, such as its sandbox.
func (m *Manager) Delete(ctx context.Context, id event.ConversationID) (left, err error) {
	c, e, err := m.holdStopped(ctx, id)
	if err != nil {
		return nil, err
	}
	closed, err := m.end(ctx, c)
	if err != nil {
		m.release(id, e, e.c)
		return nil, err
	}
	m.release(id, e, nil)
	m.notPaused(id)
	left = m.cleanUp(ctx, c, closed)
	c.mu.Lock()
	worktree := c.rec.Worktree
	c.mu.Unlock()
	return left, m.removeWorktree(ctx, worktree, id)
}

// end closes a conversation, with the error closed, and deletes its events under
// the conversation's lock. The caller has called holdStopped; opening is unlocked.
func (m *Manager) end(ctx context.Context, c *Conversation) (closed, err error) {
	defer c.opening.Unlock()
	w := c.active.Load()
	if w == nil { // another process may work on it
		unlock, err := m.lock(ctx, c.id)
		if err != nil {
			return nil, err
		}
		w = &worker{unlock: unlock, abandon: func() {}}
	}
	defer w.unlock()
	m.announceDeletion(ctx, c)
	c.active.Store(nil)
	w.abandon()
	closed = w.closeResources(ctx, false)
	w.leave()
	return closed, m.o.Store.Delete(ctx, c.id)
}

// holdStopped stops a conversation for good. It holds its slot, so that nobody
// loads it again, and locks opening, so that it does not start again.
func (m *Manager) holdStopped(ctx context.Context, id event.ConversationID) (*Conversation, *slot, error) {
	for {
		c, err := m.Get(ctx, id)
		if errors.Is(err, schema.ErrSealed) {
			return m.holdSealed(ctx, id)
		}
		if err != nil {
			return nil, nil, err
		}
		if w := c.active.Load(); w != nil {
			if _, err := w.Interrupt(ctx); err != nil {
				m.o.Log.Warn("stop a conversation that is being deleted", "conversation", id, "err", err)
			}
			if err := w.Wait(ctx); err != nil {
				return nil, nil, err
			}
			if err := stopRuns(ctx, c); err != nil { // of guests
				m.o.Log.Warn("stop the sub-agents of a conversation that is being deleted", "conversation", id, "err", err)
			}
		}
		e := m.hold(id)
		c.opening.Lock()
		w := c.active.Load()
		if e.c == c && w != nil && !w.Busy() {
			w.hooks.end(context.WithoutCancel(ctx))
		}
		if e.c == c && (w == nil || w.closeController(ctx) == nil) {
			return c, e, nil
		}
		c.opening.Unlock()
		m.release(id, e, e.c) // another run has begun, or it was evicted
	}
}

// holdSealed is holdStopped for a conversation whose secrets no key opens: nothing
// can run in it here.
func (m *Manager) holdSealed(ctx context.Context, id event.ConversationID) (*Conversation, *slot, error) {
	e := m.hold(id)
	info, err := m.o.Store.Info(ctx, id)
	if err == nil {
		var c *Conversation
		if c, err = m.restore(info, true); err == nil {
			c.opening.Lock()
			return c, e, nil
		}
	}
	m.release(id, e, e.c)
	return nil, nil, err
}

// removeTimeout bounds how long a deletion waits for the sandbox to be removed: the
// engine of its container may hang.
const removeTimeout = 30 * time.Second

// cleanUp removes the sandbox, files and checkpoints of a deleted conversation, and returns the
// errors. closed is the error of closing it, which does not matter if the sandbox can be
// removed.
func (m *Manager) cleanUp(ctx context.Context, c *Conversation, closed error) (left error) {
	dir := filepath.Join(m.o.Dir, c.id.Hex())
	limited, cancel := context.WithTimeout(ctx, removeTimeout)
	removed := m.o.Builder.Remove(limited, c.id) // ends programs that still write files
	cancel()
	for _, step := range []struct {
		what string
		err  error
	}{
		{"close it", closed},
		{"remove its resources", removed},
		{"remove its files", os.RemoveAll(dir)},
		{"remove its checkpoints", m.removeCheckpoints(ctx, c.id)},
	} {
		if step.err == nil {
			continue
		}
		m.o.Log.Warn("clean up after a deleted conversation", "conversation", c.id, "step", step.what, "err", step.err, "hint", fault.HintOf(step.err))
		if step.what != "close it" {
			left = errors.Join(left, fmt.Errorf("%s: %w", step.what, step.err))
		}
	}
	return left
}

func (m *Manager) removeCheckpoints(ctx context.Context, id event.ConversationID) error {
	if m.o.Checkpoints == nil {
		return nil
	}
	return m.o.Checkpoints.Remove(ctx, id)
}

// removeWorktree removes the worktree of a conversation that was deleted or archived,
// unless another works in it: a fork, or a child that shares it.
func (m *Manager) removeWorktree(ctx context.Context, root string, of event.ConversationID) error {
	if root == "" {
		return nil
	}
	for q := (eventstream.ListQuery{Limit: 1000}); ; {
		page, err := m.o.Store.List(ctx, q)
		if err != nil {
			return fmt.Errorf("find conversations that use the worktree %s: %w", root, err)
		}
		for _, info := range page.Infos {
			if dir := info.Meta.WorkingDir; info.ID == of {
				continue
			} else if dir == root || strings.HasPrefix(dir, root+string(filepath.Separator)) {
				return nil
			}
		}
		if q.PageID = page.NextID; q.PageID == "" {
			return m.o.Files.RemoveWorktree(ctx, root)
		}
	}
}

// flushTimeout is how long a deletion waits for the observer to pass on the
// conversation's events.
const flushTimeout = 5 * time.Second

func (m *Manager) announceDeletion(ctx context.Context, c *Conversation) {
	if m.o.Observer == nil {
		return
	}
	s := *c.lastState(ctx)
	s.Status = state.Deleting
	if raw, err := c.describe(&s, time.Now(), false); err == nil {
		m.o.Observer.Changed(c.id, raw)
	}
	ctx, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	if err := m.o.Observer.Flush(ctx, c.id); err != nil {
		m.o.Log.Warn("pass on the last events of a conversation", "conversation", c.id, "err", err)
	}
}
