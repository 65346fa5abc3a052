package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/session/internal/goal"
	"github.com/deft-dev/deft/session/internal/lockorder"
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
	keyAnswers   = "confirmation_answers"  // ours: see given
	keyWarnings  = "warnings"              // ours: the parts that are not available
	keyHooks     = "project_hooks"         // ours: a HooksFile, for the question about it
	keyParts     = "project_parts"         // ours: a list of ProjectPart, for the questions about them
	keySetUp     = "set_up"                // ours: the scripts of the project have run; those that failed
	keyNoImages  = "models_without_images" // ours: names of models that were found to take no images
	keyQueue     = "queue"                 // ours, never stored: the messages that wait, a list of Queued
	keySandbox   = "sandbox"               // ours, never stored: how the sandbox has ended, a sandbox.Status
)

// Conversation is one conversation that is loaded. Its events are read and its
// resources are built when they are first needed.
type Conversation struct {
	configuration
	publish publisher
	use     usage

	answering lockorder.Mutex[lockorder.Answering] // held while answers to questions are recorded

	switching lockorder.Mutex[lockorder.Switching] // held while the agent gets another LLM

	opening lockorder.Mutex[lockorder.Opening] // held while the worker starts or ends
	active  atomic.Pointer[worker]

	resuming  atomic.Bool // it is opened to continue a run
	replaying replayTurn
}

// Stream returns the stream with its events.
func (c *Conversation) Stream() eventstream.Stream { return c.m.o.Store }

// Watch calls f for each [Transient]. f must not block.
func (c *Conversation) Watch(f func(Transient)) (cancel func()) {
	stop := c.publish.hub.watch(f)
	return func() {
		stop()
		c.m.mayBeIdle()
	}
}

// newConversation returns a conversation without configuration.
func newConversation(m *Manager, id event.ConversationID) *Conversation {
	c := &Conversation{configuration: configuration{m: m, id: id, sends: make(chan struct{}, 1), view: m.o.View.Open()}}
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

// restore makes a Conversation of its stored configuration. Secrets that no key opens are an
// error, schema.ErrSealed, unless it will be deleted.
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

// work returns the worker of the conversation, and starts it if there is none. It fails after
// the start timeout; then the conversation has ended in an error.
func (c *Conversation) work(ctx context.Context) (*worker, error) {
	c.use.touch()
	c.use.worked.Store(time.Now().UnixNano())
	if w := c.active.Load(); w != nil && !w.renewed(ctx) {
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

// renewed closes a worker whose user has answered about programs since it began, unless it runs, and reports
// whether it has.
func (w *worker) renewed(ctx context.Context) bool {
	return w.outdated.Load() && w.c.close(ctx, true) == nil
}

// open starts the worker of a conversation that has none; host is the worker of its parent.
func (c *Conversation) open(ctx context.Context, host *worker) (*worker, error) {
	// The slot is held meanwhile: only a live conversation has a worker.
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
	if err := w.tellHooks(ctx, w.hooks.file); err != nil {
		c.m.o.Log.Warn("record the project's hooks", "conversation", c.id, "err", err)
	}
	if err := w.tellParts(ctx, w.parts); err != nil {
		c.m.o.Log.Warn("record the project's parts", "conversation", c.id, "err", err)
	}
	return w, nil
}

// errEvicted is returned by a conversation that was evicted and then loaded again.
var errEvicted = fault.New(fault.Conflict, "the conversation has been loaded again meanwhile").Hint("try again")

// close ends the worker. keep leaves the sandbox running for a while. [ErrRunning], and nothing
// changes, while a run is at work.
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
		w.hooks.end(context.WithoutCancel(ctx))
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

// State returns the conversation's state.
func (c *Conversation) State(ctx context.Context) (*state.State, error) {
	w, err := c.work(ctx)
	if err != nil {
		return nil, err
	}
	return w.Latest(), nil
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
