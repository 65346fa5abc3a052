package conversation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/deft-dev/deft/agent"
	"github.com/deft-dev/deft/controller"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/lease"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/secret"
	"github.com/deft-dev/deft/skill"
	"github.com/deft-dev/deft/spec"
	"github.com/deft-dev/deft/state"
)

// Keys of state updates that this package writes (docs/openhands/sdk-wire.md
// section 7.2).
const (
	keyPolicy    = "confirmation_policy"
	keyAnalyzer  = "security_analyzer"
	keyActivated = "activated_knowledge_skills"
	keyPathRules = "activated_path_rules"
	keyInvoked   = "invoked_skills"
	keyAgent     = "agent"
	keyGoal      = "goal"
)

// Conversation is one conversation that is loaded. Its events are read and
// its outfit is made when they are first needed.
type Conversation struct {
	m       *Manager
	id      event.ConversationID
	created time.Time
	hub     hub
	used    atomic.Int64 // when it was last used, Unix nanoseconds
	ended   atomic.Int64 // when its last run ended
	polled  atomic.Int64 // when a client last looked at it
	listed  atomic.Int64 // when a client last listed its events

	secrets *secret.Registry

	mu        sync.Mutex // guards what follows; never held for a whole run
	meta      eventstream.Meta
	cfg       config
	agent     *spec.Agent
	shown     shownAgent
	stats     shownStats
	snapshot  json.RawMessage // the description, if it is that of snapSeq
	snapSeq   eventstream.Seq
	pathRules json.RawMessage // what the snapshot does not show of it; nil where an older store has none

	publishing sync.Mutex // held while a state is made and told, and while a run begins

	opening sync.Mutex // held while the parts below are made
	open    atomic.Pointer[work]

	run runs
}

// shownAgent are the forms in which clients see the agent; state is made when
// it is first needed.
type shownAgent struct{ info, state json.RawMessage }

// shownStats are the stats of the state of a Seq.
type shownStats struct {
	seq eventstream.Seq
	raw json.RawMessage
}

// work is what a conversation has while it is at work.
type work struct {
	*controller.Controller
	outfit *Outfit
	models *models
	guard  *guard
	skills []skill.Skill
	review *review
	writer *writer
	lease  func() // gives it back; nil before it is taken
	// streams says that clients want the answer as it is written.
	streams atomic.Bool
}

// ID returns the conversation's id.
func (c *Conversation) ID() event.ConversationID { return c.id }

// Stream returns where its events are.
func (c *Conversation) Stream() eventstream.Stream { return c.m.o.Stream }

// Watch calls f for what is published and never stored. f must not block.
func (c *Conversation) Watch(f func(Transient)) (cancel func()) { return c.hub.watch(f) }

// Workspace returns the directory where it works.
func (c *Conversation) Workspace() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cfg.Workspace.WorkingDir
}

func (c *Conversation) touch() { c.used.Store(time.Now().UnixNano()) }

// idleSince reports whether nobody has used it since a time.
func (c *Conversation) idleSince(t time.Time) bool {
	return c.used.Load() < t.UnixNano() && !c.run.busy() && !c.hub.watched()
}

// revive makes a Conversation of what is stored.
func (m *Manager) revive(info eventstream.Info) (*Conversation, error) {
	s, err := decodeStored(info.ID, info.Meta)
	if err != nil {
		return nil, err
	}
	a, err := spec.DecodeAgent(s.Config.Agent, schema.Reading{Keys: m.o.Ring, Strict: true}, "agent")
	if err != nil {
		return nil, fmt.Errorf("read the agent of conversation %s: %w", info.ID, err)
	}
	c := &Conversation{m: m, id: info.ID, created: info.Created, meta: info.Meta, cfg: s.Config}
	if !s.Config.Created.IsZero() {
		c.created = s.Config.Created
	}
	c.snapshot, c.snapSeq, c.pathRules = s.Snapshot, s.Seq, s.PathRules
	c.meta.Extra = nil
	if err := c.setAgent(a); err != nil {
		return nil, err
	}
	if err := c.openSecrets(s.Config.Secrets); err != nil {
		return nil, fmt.Errorf("read the secrets of conversation %s: %w", info.ID, err)
	}
	c.touch()
	return c, nil
}

// setAgent takes over an agent. The caller holds mu or is alone.
func (c *Conversation) setAgent(a *spec.Agent) error {
	if a.Kind != "Agent" {
		return fault.New(fault.Unsupported, "agents of kind "+a.Kind+" cannot run here yet")
	}
	sealed, err := a.JSON(schema.Writing{Mode: schema.Sealed, Keys: c.m.o.Ring})
	if err != nil {
		return fmt.Errorf("seal the agent: %w", err)
	}
	info, err := a.JSON(schema.Writing{Mode: schema.Nulled})
	if err != nil {
		return fmt.Errorf("show the agent: %w", err)
	}
	c.agent, c.cfg.Agent, c.shown = a, sealed, shownAgent{info: withoutSkills(info)}
	return nil
}

// agentState is the agent as state updates show it. The caller holds mu or is
// alone.
func (c *Conversation) agentState() (json.RawMessage, error) {
	if c.shown.state == nil {
		masked, err := c.agent.JSON(schema.Writing{Mode: schema.Masked, NoNulls: true})
		if err != nil {
			return nil, fmt.Errorf("show the agent: %w", err)
		}
		c.shown.state = masked
	}
	return c.shown.state, nil
}

// begin returns the conversation at work, making it so if need be.
func (c *Conversation) begin(ctx context.Context) (*work, error) {
	c.touch()
	if w := c.open.Load(); w != nil {
		return w, nil
	}
	c.opening.Lock()
	defer c.opening.Unlock()
	if w := c.open.Load(); w != nil {
		return w, nil
	}
	w, err := c.equipInTurn(ctx)
	switch {
	case errors.Is(err, errOwned): // clients are told as it is
		return nil, errOwned
	case err != nil:
		return nil, fmt.Errorf("open conversation %s: %w", c.id, err)
	}
	c.open.Store(w)
	// A goal that a crash left behind can be resumed.
	if err := c.endGoal(ctx, w, goalInterrupted); err != nil {
		c.m.o.Log.Warn("record the end of a goal", "conversation", c.id, "err", err)
	}
	c.m.running.Go(func() { c.secrets.Resolve(c.m.ctx) }) // masking looks nothing up
	for _, warning := range w.outfit.Warnings {
		c.m.o.Log.Warn("a part is missing", "conversation", c.id, "warning", warning)
	}
	return w, nil
}

// equipInTurn is equip in its turn. MCP servers are strangers, who may let us
// wait: an agent that has some gets by without one.
func (c *Conversation) equipInTurn(ctx context.Context) (*work, error) {
	c.mu.Lock()
	strangers := len(c.agent.MCPServers) > 0
	c.mu.Unlock()
	if !strangers {
		leave, err := c.m.turns.enter(ctx)
		if err != nil {
			return nil, err
		}
		defer leave()
	}
	return c.equip(ctx)
}

// equip makes what a conversation works with.
func (c *Conversation) equip(ctx context.Context) (_ *work, err error) {
	w := &work{}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.close(context.WithoutCancel(ctx)))
		}
	}()
	if w.lease, err = c.m.lease(c.id); err != nil {
		return nil, err
	}
	c.mu.Lock()
	cfg, spec := c.cfg, c.agent
	c.mu.Unlock()
	if w.models, err = c.openModels(spec); err != nil {
		return nil, err
	}
	w.guard = &guard{secret.Guard{Registry: c.secrets}, c, w}
	if w.skills, err = c.loadSkills(cfg, spec); err != nil {
		return nil, err
	}
	info := w.models.get(agent.UsageAgent).Info()
	if w.outfit, err = c.m.o.Outfit(ctx, c.needs(cfg, spec, info, w)); err != nil {
		return nil, err
	}
	w.review, w.writer = &review{c: c, w: w}, newWriter(c, w)
	w.streams.Store(spec.LLM != nil && spec.LLM.Stream)
	w.Controller, err = controller.Open(ctx, controller.Config{
		ID: c.id, Stream: c.m.o.Stream, Agent: overheard{w.outfit.Agent, w.writer}, Runtime: w.outfit.Runtime, Local: w.outfit.Local,
		LLM: w.models.get, CountedAs: w.models.countedAs, MaxIterations: cfg.MaxIterations, Parallel: max(spec.ToolConcurrencyLimit, 1),
		Review: w.review.judge, Guard: w.guard, Stuck: stuckThresholds(cfg),
		Log: c.m.o.Log,
	})
	return w, err
}

func stuckThresholds(cfg config) controller.StuckThresholds {
	if !cfg.StuckDetection {
		return controller.StuckThresholds{ActionObservation: -1}
	}
	return controller.StuckThresholds{}
}

func (c *Conversation) needs(cfg config, spec *spec.Agent, info llm.Info, w *work) Needs {
	return Needs{
		ID: c.id, Workspace: cfg.Workspace.WorkingDir, Agent: spec, Info: info,
		Prompt: c.prompt(spec, w), Condenser: condenser(spec),
		ClientTools: cfg.ClientTools, Skills: w.skills, Invoked: func(name string) { c.noteInvoked(w, name) },
		Tasks: func() []event.TaskItem {
			if w.Controller == nil {
				return nil
			}
			return w.State().Tasks
		},
		SwitchLLM: c.SwitchProfile,
		Secret:    c.secrets.Value,
	}
}

// close lets go of everything but what is stored.
func (c *Conversation) close(ctx context.Context) error {
	c.opening.Lock()
	defer c.opening.Unlock()
	w := c.open.Swap(nil)
	if w == nil {
		return nil
	}
	c.note(w)
	return w.close(ctx)
}

func (w *work) close(ctx context.Context) error {
	var errs []error
	if w.outfit != nil && w.outfit.Close != nil {
		errs = append(errs, w.outfit.Close(ctx))
	}
	if w.lease != nil {
		w.lease()
	}
	return errors.Join(errs...)
}

// state returns the conversation's state: that of its controller, or of its
// events when it is not at work.
func (c *Conversation) state(ctx context.Context) (*state.State, error) {
	w, err := c.begin(ctx)
	if err != nil {
		return nil, err
	}
	return w.Latest(), nil
}

// errOwned is told where another server works on the conversation.
var errOwned = fault.New(fault.Conflict, "Conversation is owned by another agent server instance; the write was refused")

// lease makes this process the only one that works on a conversation, until
// release is called.
func (m *Manager) lease(id event.ConversationID) (release func(), err error) {
	release, err = m.leases.Take(id)
	if errors.Is(err, lease.ErrHeld) {
		return nil, errOwned
	}
	return release, err
}
