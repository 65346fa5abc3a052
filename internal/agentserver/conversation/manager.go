// Package conversation is the heart of the Agent Server: it keeps the
// conversations, loads one when it is touched, runs it, and lets go of it when
// nobody needs it.
//
// # Usage
//
//	m, err := conversation.Open(ctx, conversation.Options{Stream: store, …})
//	c, made, err := m.Create(ctx, request)
//	err = c.Send(ctx, conversation.Message{Role: "user", Content: text, Run: true})
//	…
//	err = m.Close(ctx)
//
// # Where things are
//
// The events are the truth; the stream holds them. What a conversation was
// made with (its agent, with secrets sealed) and how it looked when it was
// last at rest lie beside them in [eventstream.Meta], so that 100,000
// conversations can be listed without loading one.
//
// # Concurrency
//
// Everything may be called from any goroutine. A run has one goroutine of its
// own, which the [Manager] waits for.
//
// # Failure
//
// Errors have the kinds of package fault; rest words them for clients. A
// conversation is run by one process at a time, which holds its lease (package
// lease); others get fault.Conflict.
package conversation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/deft-dev/deft/controller"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/keyring"
	"github.com/deft-dev/deft/internal/lease"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/spec"
)

// Defaults of [Options].
const (
	DefaultIdleTTL = 20 * time.Minute // docs/openhands/sdk-wire.md section 1
	DefaultRepeat  = 200 * time.Millisecond
)

// Options say what a [Manager] works with. Stream, Dir, Ring, Resolve, Model
// and Outfit are required.
type Options struct {
	Stream eventstream.Stream
	// Dir is the directory of conversations; what clients are told as
	// persistence_dir lies below it, and the leases.
	Dir string
	// Ring seals the secrets that are stored.
	Ring *keyring.Ring
	// Resolve turns a request into the agent it asks for: an agent as it is,
	// settings, or a profile.
	Resolve func(ctx context.Context, r *StartRequest) (*Launch, error)
	// LLM reads the LLM of a request, with its provider connection.
	LLM func(ctx context.Context, raw json.RawMessage) (*spec.LLM, error)
	// Profile returns the LLM of a stored profile.
	Profile func(ctx context.Context, name string) (*spec.LLM, error)
	// Model opens the model of an LLM. Before a call is made again, retried is
	// told.
	Model func(l *spec.LLM, retried func(controller.Retry, error)) (llm.Model, error)
	// Outfit makes what a conversation works with.
	Outfit func(ctx context.Context, n Needs) (*Outfit, error)
	// Server is where this machine reaches the server: relative URLs of
	// secrets begin there.
	Server string
	// Lookup answers secrets whose URL is this server's own; nil for none.
	Lookup func(ctx context.Context, url string) (value string, ok bool)
	// UserSkills are the directories of the user's own skills.
	UserSkills []string
	// Modules returns the reference's Python modules of an agent's tools
	// (docs/openhands/sdk-wire-1.58.md section B.3); nil for none.
	Modules func(a *spec.Agent) map[string]string
	// CheckClientTool says what is wrong with a client's tool; nil for
	// nothing.
	CheckClientTool func(raw json.RawMessage) error
	// Repository makes a directory a git repository unless it is in one, so
	// that changes to it can be shown; nil for not.
	Repository func(ctx context.Context, dir string) error
	// Worktree makes a worktree of the repository in dir for a conversation,
	// and returns its root and the directory in it that stands for dir;
	// DropWorktree removes it again. Nil for no worktrees.
	Worktree     func(ctx context.Context, dir string, id event.ConversationID, o *WorktreeOptions) (root, work string, err error)
	DropWorktree func(ctx context.Context, root string) error
	// Changed is told of a conversation that began, was paused or interrupted,
	// got another title or other tags, or is deleted, with its description;
	// nil for nobody.
	Changed func(id event.ConversationID, info json.RawMessage)
	// Shown is told the state, as a full_state update, whenever clients are;
	// nil for nobody.
	Shown func(id event.ConversationID, state json.RawMessage)
	// Deliver returns when everybody who is told of a conversation's events
	// has them all; it is called before one is deleted. Nil for nobody.
	Deliver func(ctx context.Context, id event.ConversationID) error
	// Deleted is called when a conversation has been removed, so that others
	// remove what they keep for it; nil for nobody.
	Deleted func(ctx context.Context, id event.ConversationID) error
	// MaxRuns bounds the runs at one time; 0 for no bound.
	MaxRuns int
	// IdleTTL is after what time without use a conversation is let go of; 0
	// takes DefaultIdleTTL, a negative value keeps it.
	IdleTTL time.Duration
	Log     *slog.Logger
}

// Manager keeps the conversations of a server.
type Manager struct {
	o       Options
	leases  *lease.Book
	turns   turnstile
	ctx     context.Context // of everything that runs
	cancel  context.CancelFunc
	running sync.WaitGroup
	runs    chan struct{} // permits; nil for no bound
	active  atomic.Int64  // runs at work

	mu   sync.Mutex
	live map[event.ConversationID]*entry
}

// entry is the place of one conversation among the live ones; its lock lets
// one caller at a time load, make or delete it.
type entry struct {
	mu   sync.Mutex
	c    *Conversation
	uses int // callers that hold or wait for mu
}

// Open returns a manager. Conversations that were running when the last one
// ended go on once [Manager.Resume] is called.
func Open(o Options) (*Manager, error) {
	if o.IdleTTL == 0 {
		o.IdleTTL = DefaultIdleTTL
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	leases, err := lease.Open(o.Dir)
	if err != nil {
		return nil, err
	}
	m := &Manager{o: o, leases: leases, turns: newTurnstile(), live: map[event.ConversationID]*entry{}}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	if o.MaxRuns > 0 {
		m.runs = make(chan struct{}, o.MaxRuns)
	}
	if o.IdleTTL > 0 {
		m.running.Go(m.evictLoop)
	}
	return m, nil
}

// Resume lets conversations go on that were running when their server ended.
// It returns how many; one that cannot be loaded is logged.
func (m *Manager) Resume(ctx context.Context) (n int, err error) {
	q := eventstream.ListQuery{Status: "running"}
	for {
		page, err := m.o.Stream.List(ctx, q)
		if err != nil {
			return n, fmt.Errorf("find what was running: %w", err)
		}
		for _, info := range page.Infos {
			c, err := m.Get(ctx, info.ID)
			if err == nil {
				err = c.Run(ctx)
			}
			switch {
			case err == nil:
				n++
			case !fault.Is(err, fault.Conflict): // that is another server's, or runs
				m.o.Log.Warn("cannot go on with a conversation", "conversation", info.ID, "err", err)
			}
		}
		if q.PageID = page.NextID; q.PageID == "" {
			return n, nil
		}
	}
}

// Running returns how many runs are at work.
func (m *Manager) Running() int { return int(m.active.Load()) }

// Close stops what runs, so that another manager can go on with it, and waits
// for it.
func (m *Manager) Close(ctx context.Context) error {
	m.cancel()
	m.running.Wait()
	var all errgroup.Group
	all.SetLimit(closers)
	var errs []error
	var mu sync.Mutex
	for _, c := range m.all() {
		all.Go(func() error {
			err := c.close(ctx)
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, err)
			return nil
		})
	}
	_ = all.Wait() // returns none
	return errors.Join(append(errs, m.leases.Close())...)
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

// hold locks the place of a conversation.
func (m *Manager) hold(id event.ConversationID) *entry {
	m.mu.Lock()
	e := m.live[id]
	if e == nil {
		e = &entry{}
		m.live[id] = e
	}
	e.uses++
	m.mu.Unlock()
	e.mu.Lock()
	return e
}

// letGo unlocks the place and sets what is there now.
func (m *Manager) letGo(id event.ConversationID, e *entry, c *Conversation) {
	m.mu.Lock()
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
		c.touch()
		return c, nil
	}
	e := m.hold(id)
	c := e.c
	var err error
	if c == nil {
		c, err = m.load(ctx, id)
	}
	m.letGo(id, e, c)
	if err != nil {
		return nil, err
	}
	c.touch()
	return c, nil
}

// load reads what a conversation was made with. Its events are not read.
func (m *Manager) load(ctx context.Context, id event.ConversationID) (*Conversation, error) {
	info, err := m.o.Stream.Info(ctx, id)
	if err != nil {
		return nil, err
	}
	return m.revive(info)
}

// evictLoop lets go of conversations that nobody uses.
func (m *Manager) evictLoop() {
	tick := time.NewTicker(max(min(m.o.IdleTTL, looked)/2, time.Second))
	defer tick.Stop()
	for {
		select {
		case <-m.ctx.Done():
			return
		case now := <-tick.C:
			m.evict(now)
		}
	}
}

// looked is how long a conversation is kept that was only looked at.
const looked = 30 * time.Second

// evict lets go of conversations that nobody has used for their time.
func (m *Manager) evict(now time.Time) {
	gone := 0
	for _, c := range m.all() {
		since := now.Add(-m.o.IdleTTL)
		if c.open.Load() == nil {
			since = now.Add(-min(m.o.IdleTTL, looked))
		}
		if !c.idleSince(since) {
			continue
		}
		e := m.hold(c.id)
		kept := e.c
		if kept == c && c.idleSince(since) {
			if err := c.close(m.ctx); err != nil {
				m.o.Log.Warn("let go of a conversation", "conversation", c.id, "err", err)
			}
			kept = nil
			gone++
		}
		m.letGo(c.id, e, kept)
	}
	if gone > manyGone {
		debug.FreeOSMemory()
	}
}

// manyGone is after how many evictions memory is given back at once.
const manyGone = 100
