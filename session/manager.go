// Package session owns live conversations. It is the one layer that every way
// in shares: `deft run`, the agent server and its gateway. A [Manager] creates
// conversations, loads them when they are used, runs, forks and deletes them,
// and evicts idle ones; a [Builder] makes the [Resources] of a conversation from its
// specification. The package knows no HTTP, and no client's JSON: see [View].
//
// # Usage
//
//	m, err := session.Open(session.Options{Store: store, Lock: locks, Builder: builder, View: view, …})
//	c, made, err := m.Create(ctx, session.Spec{Agent: agent, Setup: setup})
//	err = c.Send(ctx, session.Message{Content: content, Run: true})
//	err = c.Wait(ctx)
//	…
//	err = m.Close(ctx)
//
// # Where things are
//
// The events are the truth; the store holds them. The configuration of a conversation (its
// agent, with secrets sealed) and a summary of its last state are stored beside them in
// [eventstream.Meta], so that 100,000 conversations can be listed without loading one.
//
// A [Conversation] owns its configuration and, while it works, a worker with the controller and
// the resources. Its branches are in files branch_*.go ([Branches]), the work that it has
// others do in delegate_*.go ([Delegation]), titles, goals and questions in assist*.go
// ([Assistant], [Goal]). Packages below internal have the parts that need no conversation;
// lockorder has the order of locks.
//
// # Concurrency
//
// Everything may be called from any goroutine. A run has one goroutine of its
// own, which the [Manager] waits for.
//
// # Failure
//
// Errors have the kinds of package fault. A conversation is run by one process
// at a time, which holds its [Lock]; others get fault.Conflict.
package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/deft-dev/deft/checkpoint"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/plugin"
	"github.com/deft-dev/deft/session/internal/lockorder"
	"github.com/deft-dev/deft/subagent"
)

// Defaults of [Options].
const (
	DefaultIdleTTL      = 20 * time.Minute // docs/openhands/sdk-wire.md section 1
	DefaultPausedTTL    = 24 * time.Hour
	DefaultRepublish    = 200 * time.Millisecond
	DefaultStartTimeout = 90 * time.Second
)

// Options configure a [Manager]. Store, Lock, Dir, Ring, Models, Builder and View are
// required.
type Options struct {
	Store eventstream.Stream
	Lock  Lock
	// Dir is the directory of conversations; each has one below it, persistence_dir for
	// clients.
	Dir string
	// Ring seals the secrets that are stored.
	Ring Keys
	// Settings are the saved settings of users; nil for none.
	Settings Settings
	// Permissions say which projects' hooks run; nil where the program chooses all hooks itself.
	Permissions Permissions
	// Memories keep the memory files of users; nil for none.
	Memories Memories
	// Unsandboxed says that conversations have no sandbox, for questions to users.
	Unsandboxed bool
	Models      Models
	Builder     Builder
	// View makes the documents that clients get and that are stored as summaries.
	View View
	// Files are the directories in which conversations work;
	// [PlainDirectories] if nil.
	Files WorkspaceFiles
	// Checkpoints keep the files of workspaces on this machine, at CheckpointTimes;
	// nil for none.
	Checkpoints     *checkpoint.Store
	CheckpointTimes CheckpointTimes // CheckpointTurns if empty
	// SubAgents are the sub-agents to which agents can give tasks, beside the start request's;
	// the zero value has the built-in ones and the projects'.
	SubAgents subagent.Catalog
	// Plugins are the plugins of the user of this machine, for conversations of
	// identity.LocalTenant; the zero value has none.
	Plugins plugin.Catalog
	// AdmitChild is called before a conversation that another one has started is stored;
	// nil for nothing. If it fails, the conversation is not made.
	AdmitChild func(ctx context.Context, parent, child event.ConversationID) error
	// Assigned is called before a sub-agent works on a task of another conversation; nil for
	// nothing.
	Assigned func(child *Conversation)
	// Replays reports whether a conversation that runs replays a recording: its replay
	// continues it then, not the manager. nil for no replays.
	Replays func(ctx context.Context, id event.ConversationID) bool
	// HoldQueues leaves the messages of queues waiting, for a program that ends with the agent.
	HoldQueues bool
	// Observer is notified of changes; nil for none.
	Observer Observer
	// BaseURL is where this machine reaches the program: relative URLs of
	// secrets begin there.
	BaseURL string
	// MaxRuns bounds the runs at one time; 0 for no bound.
	MaxRuns int
	// IdleTTL is the time without use after which a conversation is evicted, and its
	// sandbox paused if that can be (see [Pauser]); 0 takes DefaultIdleTTL, a
	// negative value keeps both.
	IdleTTL time.Duration
	// PausedTTL is the time after which such a sandbox is stopped; 0 takes DefaultPausedTTL.
	PausedTTL time.Duration
	// StartTimeout is how long a conversation may take to get ready to work, 0
	// for DefaultStartTimeout. After that it ends in an error.
	StartTimeout time.Duration
	Log          *slog.Logger
}

// Manager owns the live conversations of a program.
type Manager struct {
	o       Options
	cpu     cpuLimiter
	ctx     context.Context // of everything that runs
	cancel  context.CancelFunc
	running sync.WaitGroup
	runs    chan struct{} // permits; nil for no bound
	active  atomic.Int64  // runs at work

	takesOver atomic.Bool // while TakeOver is at work

	mu     lockorder.Mutex[lockorder.Manager]
	live   map[event.ConversationID]*slot
	paused map[event.ConversationID]pausedSandbox

	loaded chan struct{} // wakes evictLoop
}

// slot holds one live conversation; its lock serializes loading, creating and
// deleting it.
type slot struct {
	mu   lockorder.Mutex[lockorder.Slot]
	c    *Conversation
	uses int // callers that hold or wait for mu
}

// Open returns a manager. Conversations that were running when the last one
// ended continue once [Manager.Resume] is called.
func Open(o Options) (*Manager, error) {
	if o.Store == nil || o.Lock == nil || o.Ring == nil || o.Models == nil || o.Builder == nil || o.View == nil {
		return nil, fault.New(fault.Invalid, "a session manager needs a store, a lock, a key ring, models, a builder and a view")
	}
	o.applyDefaults()
	m := &Manager{o: o, cpu: newCPULimiter(), live: map[event.ConversationID]*slot{}, paused: map[event.ConversationID]pausedSandbox{}, loaded: make(chan struct{}, 1)}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	if o.MaxRuns > 0 {
		m.runs = make(chan struct{}, o.MaxRuns)
	}
	if o.IdleTTL > 0 {
		m.running.Go(m.evictLoop)
	}
	return m, nil
}

func (o *Options) applyDefaults() {
	o.CheckpointTimes = cmp.Or(o.CheckpointTimes, CheckpointTurns)
	o.IdleTTL = cmp.Or(o.IdleTTL, DefaultIdleTTL)
	o.PausedTTL = cmp.Or(o.PausedTTL, DefaultPausedTTL)
	o.StartTimeout = cmp.Or(o.StartTimeout, DefaultStartTimeout)
	if o.Settings == nil {
		o.Settings = noSettings{}
	}
	if o.Files == nil {
		o.Files = PlainDirectories{}
	}
	if o.Replays == nil {
		o.Replays = func(context.Context, event.ConversationID) bool { return false }
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
}

// Resume continues the conversations that were running when their program ended, but for
// replays. It returns how many; one that cannot be loaded is logged.
func (m *Manager) Resume(ctx context.Context) (n int, err error) {
	q := eventstream.ListQuery{Status: "running"}
	for {
		page, err := m.o.Store.List(ctx, q)
		if err != nil {
			return n, fmt.Errorf("find what was running: %w", err)
		}
		for _, info := range page.Infos {
			if m.o.Replays(ctx, info.ID) {
				n++
				continue
			}
			err := m.resume(ctx, info.ID)
			switch {
			case err == nil:
				n++
			case !fault.Is(err, fault.Conflict): // another process has it, or it runs
				m.o.Log.Warn("cannot resume a conversation", "conversation", info.ID, "err", err)
			}
		}
		if q.PageID = page.NextID; q.PageID == "" {
			return n, nil
		}
	}
}

// Store returns the store of events. Reading from it loads no conversation.
func (m *Manager) Store() eventstream.Stream { return m.o.Store }

// AtCapacity reports whether no further run can start now.
func (m *Manager) AtCapacity() bool { return m.full() }

// Running returns how many runs are at work.
func (m *Manager) Running() int { return int(m.active.Load()) }

// Close stops the runs, so that another manager can resume them, and waits for their end; also
// for starts that are under way.
func (m *Manager) Close(ctx context.Context) error {
	m.cancel()
	m.running.Wait()
	var all errgroup.Group
	all.SetLimit(closers)
	var errs []error
	var mu sync.Mutex
	for _, c := range m.all() {
		all.Go(func() error {
			err := c.close(ctx, true)
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, err)
			return nil
		})
	}
	_ = all.Wait() // returns none
	return errors.Join(append(errs, m.o.Lock.Close())...)
}

// closers is how many conversations are closed side by side: each mostly
// waits for its shell to be gone.
const closers = 64

// all returns the live conversations.
func (m *Manager) all() []*Conversation {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]*Conversation, 0, len(m.live))
	for _, e := range m.live {
		if e.c != nil {
			out = append(out, e.c)
		}
	}
	return out
}

// peek returns a conversation if it is live, without loading it.
func (m *Manager) peek(id event.ConversationID) *Conversation {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.live[id]; e != nil {
		return e.c
	}
	return nil
}

// hold locks the slot of a conversation.
func (m *Manager) hold(id event.ConversationID) *slot {
	m.mu.Lock()
	e := m.live[id]
	if e == nil {
		e = &slot{}
		m.live[id] = e
	}
	e.uses++
	m.mu.Unlock()
	e.mu.Lock()
	return e
}

// release unlocks the slot and sets its conversation.
func (m *Manager) release(id event.ConversationID, e *slot, c *Conversation) {
	m.mu.Lock()
	if c != nil && e.c == nil {
		m.mayBeIdle()
	}
	e.c = c
	if e.uses--; e.uses == 0 && c == nil {
		delete(m.live, id)
	}
	m.mu.Unlock()
	e.mu.Unlock()
}

// Get returns a conversation, loading it if need be. NotFound if there is
// none.
func (m *Manager) Get(ctx context.Context, id event.ConversationID) (*Conversation, error) {
	if c := m.peek(id); c != nil {
		c.use.touch()
		return c, nil
	}
	e := m.hold(id)
	c := e.c
	var err error
	if c == nil {
		c, err = m.load(ctx, id)
	}
	m.release(id, e, c)
	if err != nil {
		return nil, err
	}
	c.use.touch()
	return c, nil
}

// load reads the configuration of a conversation, and not its events.
func (m *Manager) load(ctx context.Context, id event.ConversationID) (*Conversation, error) {
	info, err := m.o.Store.Info(ctx, id)
	if err != nil {
		return nil, err
	}
	return m.restore(info, false)
}

// Evict closes a conversation if it is live and nothing runs in it. With keep its
// sandbox and the processes in it stay for a while, so that another process can
// take it over.
func (m *Manager) Evict(ctx context.Context, id event.ConversationID, keep bool) error {
	e := m.hold(id)
	c := e.c
	if c == nil {
		m.release(id, e, nil)
		return nil
	}
	err := c.close(ctx, keep)
	if errors.Is(err, ErrRunning) {
		m.release(id, e, c)
		return err
	}
	m.release(id, e, nil)
	return err
}
