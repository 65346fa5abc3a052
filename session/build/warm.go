package build

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/runtime/remote"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/pool"
	"github.com/deft-dev/deft/session"
)

// WarmOptions say which sandboxes wait. All are required.
type WarmOptions struct {
	// Ready is how many wait.
	Ready int
	// Prepare makes the directory in which a conversation is going to work, and Discard
	// removes it.
	Prepare func(ctx context.Context, id event.ConversationID) (dir string, err error)
	Discard func(ctx context.Context, id event.ConversationID) error
}

// Warm keeps sandboxes of conversations that do not exist yet, placed by default: each has
// the id of its conversation, a directory to work in and a shell that waits. Who makes the
// conversation of that id, in that directory, finds its sandbox running. It has held nothing
// of anybody, and is given to one. Sandboxes of a process that is killed end by themselves
// after their grace time.
type Warm struct {
	b    *Builder
	o    WarmOptions
	pool *pool.Pool

	mu      sync.Mutex
	waiting map[event.ConversationID]*remote.Runtime // holds the lease of its server
	closing sync.WaitGroup
}

// warmClass is the one class of the pool: settings do not change while the program runs.
const warmClass = pool.Class("default")

// Warm returns sandboxes that wait, once they are started. The caller closes it before the
// Builder. Unsupported if conversations have no sandboxes on this machine by default.
func (b *Builder) Warm(o WarmOptions) (*Warm, error) {
	p := b.placement(session.Placement{})
	inside, err := b.WorkspaceInside(p)
	if err != nil {
		return nil, err
	}
	if p.RuntimeClass != SandboxedRuntime || b.class(p).New == nil || inside {
		return nil, fault.New(fault.Unsupported, "only sandboxes of this machine can wait for conversations").
			Hint("choose the sandbox class " + sandbox.Or(b.o.Classes.Sandboxes.Outside().Names()))
	}
	w := &Warm{b: b, o: o, waiting: map[event.ConversationID]*remote.Runtime{}}
	w.pool = pool.New(pool.Options{Maker: warmMaker{w}, Log: b.o.Log})
	return w, nil
}

// Start begins to start sandboxes.
func (w *Warm) Start() {
	w.pool.Configure(map[pool.Class]pool.Size{warmClass: {Ready: w.o.Ready}})
}

// Claim takes a sandbox, if one waits, for the conversation with its id. No other one is
// started before release is called, though for a second at most.
func (w *Warm) Claim() (id event.ConversationID, release func(), ok bool) {
	m, ok := w.pool.Claim(warmClass)
	if !ok {
		return "", nil, false
	}
	release = w.pool.Hold()
	id, _ = event.ParseConversationID(m.ID) // it was made from one
	w.leave(id)
	return id, release, true
}

// leave gives up the lease of a sandbox, which then has its grace time.
func (w *Warm) leave(id event.ConversationID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	rt := w.waiting[id]
	delete(w.waiting, id)
	if rt != nil {
		w.closing.Go(func() {
			if err := rt.Close(); err != nil {
				w.b.o.Log.Debug("leave a sandbox that waited", "sandbox", id, "err", err)
			}
		})
	}
}

// Discard removes a sandbox that was claimed, and its directory.
func (w *Warm) Discard(ctx context.Context, id event.ConversationID) error {
	w.leave(id)
	return errors.Join(w.b.Remove(ctx, id), w.o.Discard(ctx, id))
}

// Close removes the sandboxes that wait.
func (w *Warm) Close() {
	w.pool.Close()
	w.closing.Wait()
}

// warmMaker implements [pool.Maker].
type warmMaker struct{ w *Warm }

var _ pool.Maker = warmMaker{}

// Make implements [pool.Maker].
func (m warmMaker) Make(ctx context.Context, _ pool.Class) (pool.Member, error) {
	id := event.NewConversationID()
	s, err := m.start(ctx, id)
	if err != nil {
		clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		if derr := m.w.Discard(clean, id); derr != nil {
			m.w.b.o.Log.Warn("what is left of a failed start cannot be removed", "sandbox", id, "err", derr)
		}
		return pool.Member{}, err
	}
	return pool.Member{ID: id.Hex(), Made: time.Now(), Ended: s.Done()}, nil
}

// start starts the sandbox of a conversation as its runtime would, and has its shell wait.
func (m warmMaker) start(ctx context.Context, id event.ConversationID) (sandbox.Sandbox, error) {
	b := m.w.b
	dir, err := m.w.o.Prepare(ctx, id)
	if err != nil {
		return nil, err
	}
	r := session.BuildRequest{ID: id, Workspace: dir, Placement: b.placement(session.Placement{})}
	provider, err := b.Sandboxes(r.SandboxClass, r.Isolation)
	if err != nil {
		return nil, err
	}
	env, mark := b.environment(ctx, r)
	spec, err := b.sandboxSpec(ctx, r, env, mark)
	if err != nil {
		return nil, err
	}
	s, err := provider.Start(ctx, spec)
	if err != nil {
		return nil, err
	}
	rt, err := remote.New(remote.Options{Dial: s.Dial})
	if err != nil {
		return nil, err
	}
	m.w.mu.Lock()
	m.w.waiting[id] = rt
	m.w.mu.Unlock()
	return s, rt.Prepare(ctx)
}

// Check implements [pool.Maker].
func (m warmMaker) Check(ctx context.Context, x pool.Member) error {
	id, _ := event.ParseConversationID(x.ID)
	m.w.mu.Lock()
	rt := m.w.waiting[id]
	m.w.mu.Unlock()
	if rt == nil { // it was claimed
		return nil
	}
	_, err := rt.Health(ctx)
	return err
}

// Discard implements [pool.Maker].
func (m warmMaker) Discard(ctx context.Context, x pool.Member) error {
	id, _ := event.ParseConversationID(x.ID)
	return m.w.Discard(ctx, id)
}
