package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/deft-dev/deft/agent"
	"github.com/deft-dev/deft/controller"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/secret"
	"github.com/deft-dev/deft/session/internal/goal"
	"github.com/deft-dev/deft/skill"
	"github.com/deft-dev/deft/spec"
	"github.com/deft-dev/deft/state"
	"github.com/deft-dev/deft/subagent"
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
	keyWarnings  = "warnings" // ours: what the conversation does without
	keySandbox   = "sandbox"  // ours, never stored: how the sandbox has ended, a sandbox.Status
)

// Conversation is one conversation that is loaded. Its events are read and its
// resources are built when they are first needed.
type Conversation struct {
	configuration
	publish publisher
	use     usage

	switching mutex[switchingOrder] // held while the agent gets another LLM

	opening mutex[openingOrder] // held while the worker starts or ends
	active  atomic.Pointer[worker]

	resuming  atomic.Bool // it is opened to continue a run
	replaying replayTurn
}

// worker is what a conversation has while it can work.
type worker struct {
	*controller.Controller
	res     Resources
	models  *models
	guard   *guard
	skills  []skill.Skill
	review  *review
	agent   agent.Agent // what the controller runs, but for a replay
	answers *answerStream
	unlock  func() // nil before the conversation is locked
	title   titler
	// checkpoints keep the workspace's files.
	checkpoints *checkpointer
	// ctx is that of runs. abandon ends it where another process goes on.
	ctx     context.Context
	abandon context.CancelFunc
	// host is the worker whose guest the conversation is; nil for an ordinary one.
	host   *worker
	c      *Conversation // whose worker it is
	guests guests
	// tasks are those that the agent has given to subAgents.
	tasks     *tasks
	subAgents []subagent.Definition
	// streams says that clients want the answer as it is written.
	streams atomic.Bool
}

// Stream returns the stream with its events.
func (c *Conversation) Stream() eventstream.Stream { return c.m.o.Store }

// Watch calls f for what is published and never stored. f must not block.
func (c *Conversation) Watch(f func(Transient)) (cancel func()) {
	stop := c.publish.hub.watch(f)
	return func() {
		stop()
		c.m.mayBeIdle()
	}
}

// newConversation returns a conversation without configuration.
func newConversation(m *Manager, id event.ConversationID) *Conversation {
	c := &Conversation{configuration: configuration{m: m, id: id, view: m.o.View.Open()}}
	c.publish.c = c
	return c
}

// usage says when a conversation was used, in Unix nanoseconds.
type usage struct {
	used   atomic.Int64 // last
	worked atomic.Int64 // when the worker was last used
	ended  atomic.Int64 // when the last run ended
	polled atomic.Int64 // when a client last read the description
	listed atomic.Int64 // when a client last listed the events
}

func (u *usage) touch() { u.used.Store(time.Now().UnixNano()) }

// restore makes a Conversation of what is stored. Secrets that no key opens are an
// error, schema.ErrSealed, unless it is to be deleted.
func (m *Manager) restore(info eventstream.Info, deleted bool) (*Conversation, error) {
	rec, err := decodeRecord(info.ID, info.Meta)
	if err != nil {
		return nil, err
	}
	a, err := spec.DecodeAgent(rec.Agent, schema.Reading{Keys: m.o.Ring, Strict: !deleted}, "agent")
	if err != nil {
		return nil, fmt.Errorf("read the agent of conversation %s: %w", info.ID, err)
	}
	c := newConversation(m, info.ID)
	c.meta, c.rec, c.created = info.Meta, rec, info.Created
	c.meta.Extra = nil
	if err := c.setAgent(a); err != nil {
		return nil, err
	}
	if err := c.openSecrets(rec.Secrets); err != nil && !deleted {
		return nil, fmt.Errorf("read the secrets of conversation %s: %w", info.ID, err)
	} else if err == nil {
		if err := c.sealSecrets(); err != nil { // with the current key
			return nil, err
		}
	}
	c.use.touch()
	return c, nil
}

// agentUpdate is the value of the state update that records an agent.
func agentUpdate(a *spec.Agent) (json.RawMessage, error) {
	masked, err := a.JSON(schema.Writing{Mode: schema.Masked, NoNulls: true})
	if err != nil {
		return nil, fmt.Errorf("show the agent: %w", err)
	}
	return masked, nil
}

// work returns what the conversation works with, starting it if need be. It
// fails if that takes longer than the start timeout; then the conversation has
// ended in an error that says why.
func (c *Conversation) work(ctx context.Context) (*worker, error) {
	c.use.touch()
	c.use.worked.Store(time.Now().UnixNano())
	if w := c.active.Load(); w != nil {
		return w, nil
	}
	if c.archived() {
		return nil, ErrArchived
	}
	for {
		host, err := c.hostWorker(ctx) // before anything is locked
		if err != nil {
			return nil, err
		}
		w, err := c.open(ctx, host)
		if !errors.Is(err, errHostClosed) {
			return w, err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		e := c.m.hold(host.c.id) // until whoever closes it is done
		c.m.release(host.c.id, e, e.c)
	}
}

// open is work for a conversation that has no worker; host is the one whose guest it is.
func (c *Conversation) open(ctx context.Context, host *worker) (*worker, error) {
	// The slot is held meanwhile: what is active is live, and nothing else is.
	e := c.m.hold(c.id)
	live := e.c
	defer func() { c.m.release(c.id, e, live) }()
	if live != nil && live != c {
		return nil, errEvicted
	}
	c.opening.Lock()
	defer c.opening.Unlock()
	if w := c.active.Load(); w != nil {
		return w, nil
	}
	if c.archived() { // meanwhile
		return nil, ErrArchived
	}
	began := time.Now()
	w, err := c.start(ctx, host)
	c.m.o.Log.Info("start a conversation", "conversation", c.id, "success", err == nil, "duration", time.Since(began))
	switch {
	case errors.Is(err, ErrLocked): // clients see the error as it is
		return nil, ErrLocked
	case errors.Is(err, errHostClosed):
		return nil, errHostClosed
	case err != nil:
		return nil, fmt.Errorf("open conversation %s: %w", c.id, err)
	}
	c.active.Store(w)
	live = c // again, if it was evicted
	c.m.opened(c, w.State().Status)
	c.m.notPaused(c.id)
	// A goal that a crash left behind can be resumed.
	if err := c.Goal().end(ctx, w, goal.Interrupted); err != nil {
		c.m.o.Log.Warn("record the end of a goal", "conversation", c.id, "err", err)
	}
	c.m.running.Go(func() { c.secrets.Resolve(c.m.ctx) }) // masking looks nothing up
	w.recordWarnings(ctx)
	return w, nil
}

// errEvicted is returned by a conversation that was evicted and then loaded again.
var errEvicted = fault.New(fault.Conflict, "the conversation has been loaded again meanwhile").Hint("try again")

// recordWarnings tells clients which parts the conversation asked for and does
// without.
func (w *worker) recordWarnings(ctx context.Context) {
	w.c.mu.Lock()
	all := slices.Concat(w.c.rec.Warnings, w.res.Warnings())
	w.c.mu.Unlock()
	for i, text := range all { // that of an MCP server may show how it is called
		all[i] = w.c.secrets.Mask(text)
	}
	if slices.Equal(all, names(w.State(), keyWarnings)) {
		return
	}
	w.c.m.o.Log.Warn("parts are not available", "conversation", w.c.id, "warnings", all)
	if err := w.Update(ctx, keyWarnings, all); err != nil {
		w.c.m.o.Log.Warn("record what is not available", "conversation", w.c.id, "err", err)
	}
}

// newWorkerLimited is newWorker within the limit on computing goroutines. An
// agent with MCP servers, which may be slow, starts outside of it.
func (c *Conversation) newWorkerLimited(ctx context.Context, host *worker) (*worker, error) {
	c.mu.Lock()
	waits := host == nil && c.agent.MCPServers.Len() > 0
	c.mu.Unlock()
	if !waits {
		release, err := c.m.cpu.acquire(ctx)
		if err != nil {
			return nil, err
		}
		defer release()
	}
	return c.newWorker(ctx, host)
}

// newWorker builds what a conversation works with.
func (c *Conversation) newWorker(ctx context.Context, host *worker) (_ *worker, err error) {
	w := &worker{c: c}
	w.title.c, w.title.w = c, w
	w.tasks = newTasks(w)
	w.ctx, w.abandon = context.WithCancel(c.m.ctx)
	defer func() {
		if err != nil {
			// A sandbox that was there before may run what a later start waits for.
			err = errors.Join(err, w.close(context.WithoutCancel(ctx), true))
			w.leave()
		}
	}()
	if host != nil {
		if err = host.guests.add(c); err != nil {
			return nil, err
		}
		w.host = host
	}
	if w.unlock, err = c.m.lock(ctx, c.id); err != nil {
		return nil, err
	}
	c.mu.Lock()
	rec, a := c.rec, c.agent
	c.mu.Unlock()
	inside, err := c.WorkspaceInside()
	if err != nil {
		return nil, err
	}
	if err = c.CheckWorkspace(); err != nil {
		return nil, err
	}
	if w.models, err = w.openModels(a, rec.MaxCost); err != nil {
		return nil, err
	}
	w.guard = &guard{secret.Guard{Registry: c.secrets}, c, w}
	project := func() (found []skill.Skill, warnings []skill.Warning) {
		if inside { // they are added by the request's Project
			return nil, nil
		}
		return c.m.o.Files.ProjectSkills(rec.Workspace.WorkingDir)
	}
	if w.skills, err = w.loadSkills(a, project); err != nil {
		return nil, err
	}
	request := w.buildRequest(rec, a)
	if inside && (a.Context != nil && a.Context.LoadProjectSkills || request.TaskRuntime != nil) {
		request.Project = w.addProject(a)
	}
	build := c.m.o.Builder.Build
	if host != nil {
		lender, ok := host.res.(Host)
		if !ok {
			return nil, fault.New(fault.Unsupported, "the resources of this conversation cannot be shared with sub-agents")
		}
		build = lender.Guest
	}
	if w.res, err = build(ctx, request); err != nil {
		return nil, err
	}
	w.review, w.answers, w.checkpoints = &review{c: c, w: w}, newAnswerStream(c, w), newCheckpointer(c, w)
	w.streams.Store(a.LLM != nil && a.LLM.Stream)
	w.agent = streamedAgent{w.res.Agent(), w.answers}
	w.Controller, err = controller.Open(ctx, controller.Config{
		ID: c.id, Stream: c.m.o.Store, Agent: w.agent, Runtime: w.res.Runtime(), Local: w.res.Local(),
		LLM: w.models.get, CountedAs: w.models.countedAs, MaxIterations: rec.MaxIterations, MaxCost: rec.MaxCost, Parallel: max(a.ToolConcurrencyLimit, 1),
		Review: w.review.judge, Guard: w.guard, Permit: c.permit, Stuck: stuckThresholds(rec), OnOutput: c.publish.output, OnOutputEnd: c.publish.outputEnd,
		BeforeActions: w.checkpoints.before(),
		Log:           c.m.o.Log,
	})
	if err != nil {
		return nil, err
	}
	return w, w.countEarlier(ctx)
}

func stuckThresholds(rec record) controller.StuckThresholds {
	if !rec.StuckDetection {
		return controller.StuckThresholds{ActionObservation: -1}
	}
	return controller.StuckThresholds{}
}

func (w *worker) buildRequest(rec record, a *spec.Agent) BuildRequest {
	r := BuildRequest{
		ID: w.c.id, Owner: w.c.Owner(), Workspace: rec.Workspace.WorkingDir, CheckWorkspace: w.c.CheckWorkspace, Placement: rec.Placement, Agent: a,
		Model: w.models.get(agent.UsageAgent).Info(), Prompt: w.prompt(a), Condenser: condenser(a),
		ClientTools: rec.ClientTools, Skills: w.skills, Invoked: func(name string) { w.noteInvoked(name) },
		SandboxEnded: w.c.publish.sandboxEnd,
		Tasks: func() []event.TaskItem {
			if w.Controller == nil {
				return nil
			}
			return w.State().Tasks
		},
		SwitchLLM: w.c.SwitchProfile,
		Profiles:  func(ctx context.Context) ([]string, error) { return w.c.m.o.Settings.LLMs(ctx, w.c.Owner()) },
		Secret:    w.c.secrets.Value,
	}
	if delegates(a) && rec.SubAgent == "" {
		w.subAgents = w.c.Delegation().agents(a, nil)
		r.TaskRuntime, r.SubAgents = w.tasks, w.subAgents
	}
	return r
}

// close releases everything but what is stored. keep lets the sandbox live on
// for a while. [ErrRunning], and nothing changes, while a run is at work.
func (c *Conversation) close(ctx context.Context, keep bool) error {
	return c.closeBy(ctx, func(w *worker) error { return w.closeResources(ctx, keep) })
}

// closeBy is close with another way to close the resources.
func (c *Conversation) closeBy(ctx context.Context, end func(*worker) error) error {
	c.opening.Lock()
	defer c.opening.Unlock()
	w := c.active.Load()
	if w == nil {
		return nil
	}
	if !w.Busy() {
		w.title.recordBill(ctx)
	}
	if err := w.closeController(ctx); err != nil {
		return err
	}
	w.saveSummary()
	// The next worker's actions must not change the files of a checkpoint.
	if err := w.checkpoints.wait(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	c.active.Store(nil)
	w.abandon()
	defer w.unlock()
	defer w.leave()
	return end(w)
}

// close closes the resources and releases the conversation's lock.
func (w *worker) close(ctx context.Context, keep bool) error {
	w.abandon()
	if w.unlock != nil {
		defer w.unlock()
	}
	return w.closeResources(ctx, keep)
}

func (w *worker) closeResources(ctx context.Context, keep bool) error {
	if w.res == nil {
		return nil
	}
	return w.res.Close(ctx, keep)
}

// Status returns the present status of a conversation without loading its
// events: idle if it is not active.
func (c *Conversation) Status() state.Status {
	if w := c.active.Load(); w != nil {
		return w.State().Status
	}
	return state.Idle
}

// State returns the conversation's state.
func (c *Conversation) State(ctx context.Context) (*state.State, error) {
	w, err := c.work(ctx)
	if err != nil {
		return nil, err
	}
	return w.Latest(), nil
}

// Ready returns when the conversation's actions can run, or the reason why they
// cannot. A run need not wait for it.
func (c *Conversation) Ready(ctx context.Context) error {
	w, err := c.work(ctx)
	if err != nil {
		return err
	}
	return w.res.Ready(ctx)
}

// Isolation returns the level of isolation in which actions run, in the words
// of the sandbox's class; "" before it is known.
func (c *Conversation) Isolation() string {
	w := c.active.Load()
	if w == nil {
		return ""
	}
	return w.res.Isolation()
}

// ErrLocked is returned where another process works on the conversation.
var ErrLocked = fault.New(fault.Conflict, "Conversation is owned by another agent server instance; the write was refused")

// lock makes this process the only one that works on a conversation, until
// release is called.
func (m *Manager) lock(ctx context.Context, id event.ConversationID) (release func(), err error) {
	release, err = m.o.Lock.Acquire(ctx, id)
	if fault.Is(err, fault.Conflict) {
		return nil, ErrLocked
	}
	return release, err
}
