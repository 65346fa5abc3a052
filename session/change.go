package session

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/hook"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/internal/workspacedir"
	"github.com/deft-dev/deft/plugin"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/spec"
)

// Changes are the changes of a program to a conversation that it continues.
// Fields that are nil or empty leave the conversation as it is.
type Changes struct {
	Agent         *spec.Agent
	WorkingDir    string
	Placement     *Placement
	MaxIterations int
	MaxCost       *float64 // 0 for no limit
	Note          json.RawMessage
	Hooks         *hook.Config // an empty one for no hooks
	// ProjectHooks take the place of the hooks of the project's file that were allowed before.
	ProjectHooks *AllowedHooks
	Asked        *Asked
	// AllowedAgents take the place of the specification's.
	AllowedAgents []string
	// Plugins are added, with their parts.
	Plugins []plugin.Plugin
	// Secrets are added, or replace others of the same names; see [Spec].
	Secrets map[string]json.RawMessage
}

// Change changes a conversation before it works: its resources are built from the result. A changed agent is recorded in the
// events. Conflict if the conversation is in use, here or in another process.
func (c *Conversation) Change(ctx context.Context, ch Changes) (err error) {
	c.opening.Lock()
	defer c.opening.Unlock()
	if c.active.Load() != nil {
		return fault.New(fault.Conflict, "the conversation is in use")
	}
	unlock, err := c.m.lock(ctx, c.id)
	if err != nil {
		return err
	}
	defer unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	meta, rec, before := c.meta, c.rec, c.agent
	defer func() {
		if err != nil {
			c.meta, c.rec, c.agent = meta, rec, before
		}
	}()
	update, changed, err := c.apply(ch)
	if err != nil || !changed {
		return err
	}
	c.meta.Summary, c.meta.SummaryAt = nil, 0 // it is outdated
	if err := c.save(ctx); err != nil || update == nil {
		return err
	}
	if _, err = c.m.o.Store.Append(ctx, c.id, update); err != nil {
		c.meta, c.rec, c.agent = meta, rec, before
		err = errors.Join(err, c.save(ctx))
	}
	return err
}

// AddPlugins adds plugins to a conversation, which has their parts from its next step on.
// ErrRunning while it runs.
func (c *Conversation) AddPlugins(ctx context.Context, all []plugin.Plugin) error {
	if err := c.close(ctx, true); err != nil { // the sandbox stays for the next worker
		return err
	}
	return c.Change(ctx, Changes{Plugins: all})
}

// addPlugins adds the parts of plugins to the configuration, and returns its agent with the agent's parts. The caller holds mu.
func (c *configuration) addPlugins(all []plugin.Plugin) (*spec.Agent, error) {
	out := Spec{
		Setup: c.rec.Setup, Agent: c.agent, Agents: slices.Clone(c.rec.Agents),
		Plugins: slices.Clone(c.rec.Plugins), Warnings: slices.Clone(c.rec.Warnings),
	}
	if err := out.AddPlugins(all); err != nil {
		return nil, err
	}
	c.rec.Setup, c.rec.Agents, c.rec.Plugins, c.rec.Warnings = out.Setup, out.Agents, out.Plugins, out.Warnings
	return out.Agent, c.sealServers()
}

// Limits bound a conversation.
type Limits struct {
	MaxIterations int `json:"max_iterations"` // steps of one run
	// MaxCost is in US dollars; 0 for no limit.
	MaxCost float64 `json:"max_budget_per_task"`
}

// Limits returns the limits that are in force.
func (c *Conversation) Limits() Limits {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Limits{c.rec.MaxIterations, c.rec.MaxCost}
}

// SetLimits changes the limits, and records another budget for who watches the cost. Conflict while it runs.
func (c *Conversation) SetLimits(ctx context.Context, l Limits) error {
	// The worker has the old ones; the sandbox stays for the next worker.
	err := c.close(ctx, true)
	if errors.Is(err, ErrRunning) {
		return fault.New(fault.Conflict, "the limits cannot be changed while the agent works").Hint("pause it first")
	}
	if err != nil {
		return err
	}
	before := c.MaxCost()
	if err := c.Change(ctx, Changes{MaxIterations: l.MaxIterations, MaxCost: &l.MaxCost}); err != nil || l.MaxCost == before {
		return err
	}
	return c.withWorker(ctx, func(w *worker) error { return w.RecordBudget(ctx) })
}

// apply makes the changes in memory and returns the event that records a
// changed agent, nil for none. The caller holds mu.
func (c *configuration) apply(ch Changes) (update event.Event, changed bool, err error) {
	before, err := json.Marshal(c.rec)
	if err != nil {
		return nil, false, err
	}
	if ch.Placement != nil {
		c.rec.Placement = *ch.Placement
	}
	if ch.WorkingDir != "" {
		c.rec.Workspace.WorkingDir, c.meta.WorkingDir = ch.WorkingDir, ch.WorkingDir
		inside, err := c.m.o.Builder.WorkspaceInside(c.rec.Placement)
		if err != nil {
			return nil, false, err
		}
		c.rec.Directory = workspacedir.Identity{}
		if !inside { // else it is not this machine's
			if c.rec.Directory, err = workspacedir.Identify(ch.WorkingDir); err != nil {
				return nil, false, err
			}
		}
	}
	if ch.MaxIterations > 0 {
		c.rec.MaxIterations = ch.MaxIterations
	}
	if ch.MaxCost != nil {
		c.rec.MaxCost = *ch.MaxCost
	}
	if ch.Note != nil {
		c.rec.Note = ch.Note
	}
	if ch.Hooks != nil {
		c.rec.HookConfig, c.rec.ProjectHooks = nil, nil
		if err := c.rec.AddHooks(ch.Hooks); err != nil {
			return nil, false, err
		}
	}
	if ch.ProjectHooks != nil {
		if c.rec.ProjectHooks, err = ch.ProjectHooks.recorded(); err != nil {
			return nil, false, err
		}
	}
	if ch.Asked != nil {
		c.rec.Asked = *ch.Asked
	}
	if ch.AllowedAgents != nil {
		c.rec.AllowedAgents = ch.AllowedAgents
	}
	if len(ch.Secrets) > 0 {
		if err := c.addSecrets(ch.Secrets, false); err != nil {
			return nil, false, err
		}
	}
	if len(ch.Plugins) > 0 {
		if ch.Agent, err = c.addPlugins(ch.Plugins); err != nil {
			return nil, false, err
		}
	}
	after, err := json.Marshal(c.rec)
	if err != nil {
		return nil, false, err
	}
	changed = !bytes.Equal(before, after)
	same := ch.Agent == nil
	if !same {
		if same, err = sameDocument(c.agent, ch.Agent); err != nil {
			return nil, false, err
		}
	}
	if same {
		return nil, changed, nil
	}
	was, err := agentUpdate(c.agent)
	if err != nil {
		return nil, false, err
	}
	if err := c.setAgent(ch.Agent); err != nil {
		return nil, false, err
	}
	is, err := agentUpdate(c.agent)
	if err != nil || bytes.Equal(was, is) { // only a secret is another
		return nil, true, err
	}
	ev, err := event.NewStateUpdate(keyAgent, is)
	if err != nil {
		return nil, false, err
	}
	ev.Timestamp = event.Now()
	return ev, true, nil
}

// sameDocument reports whether two agents are the same, secrets included.
func sameDocument(a, b *spec.Agent) (bool, error) {
	one, err := schema.Encode(a.Doc())
	if err != nil {
		return false, err
	}
	other, err := schema.Encode(b.Doc())
	return bytes.Equal(one, other), err
}

// SetUp gives a stored conversation without agent, because it was imported,
// an agent, so that it can continue. Of the specification, Parent, Worktree and Message
// must be empty, and the title and the tags are kept as they are stored. Conflict
// if the conversation has an agent, or is in use.
func (m *Manager) SetUp(ctx context.Context, id event.ConversationID, s Spec) (*Conversation, error) {
	e := m.hold(id)
	c := e.c
	var err error
	if c != nil {
		err = errHasAgent
	} else {
		c, err = m.setUp(ctx, id, s)
	}
	if err != nil {
		m.release(id, e, e.c)
		return nil, err
	}
	m.release(id, e, c)
	c.use.touch()
	return c, nil
}

var errHasAgent = fault.New(fault.Conflict, "the conversation has an agent already")

func (m *Manager) setUp(ctx context.Context, id event.ConversationID, s Spec) (*Conversation, error) {
	if s.Parent != "" || s.Worktree != nil || s.Message != nil {
		return nil, fault.New(fault.Invalid, "an imported conversation takes no parent, worktree or message")
	}
	unlock, err := m.lock(ctx, id)
	if err != nil {
		return nil, err
	}
	defer unlock()
	info, err := m.o.Store.Info(ctx, id)
	if err != nil {
		return nil, err
	}
	if _, err := decodeRecord(id, info.Meta); err == nil {
		return nil, errHasAgent
	}
	c, err := m.prepare(ctx, id, s)
	if err != nil {
		return nil, err
	}
	if c.rec.Imported, err = importedFrom(info.Meta); err != nil {
		return nil, err
	}
	dir := c.meta.WorkingDir
	c.meta = info.Meta
	c.meta.Extra, c.meta.WorkingDir, c.meta.Summary, c.meta.SummaryAt = nil, dir, nil, 0
	if c.meta.Owner == "" {
		c.meta.Owner = string(identity.LocalTenant)
	}
	c.created = info.Created
	return c, c.save(ctx)
}

// importedFrom returns the data that an import has stored in place of a configuration.
func importedFrom(meta eventstream.Meta) (json.RawMessage, error) {
	if len(meta.Extra) == 0 {
		return nil, nil
	}
	var r record
	if err := json.Unmarshal(meta.Extra, &r); err != nil {
		return nil, fault.Wrap(err, fault.Corrupt, "read what the import has stored")
	}
	return r.Imported, nil
}
