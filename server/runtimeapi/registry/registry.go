// Package registry holds the runtimes of a Runtime API: sandboxes, each with a server in
// it, which clients start, pause, resume and stop. It knows no HTTP.
//
// # Usage
//
//	r, err := registry.Open(ctx, registry.Options{Provider: p, Store: s, …})
//	rt, err := r.Start(ctx, registry.Request{Owner: "ci", SessionID: "42", …})
//	rt, err = r.Pause(ctx, "ci", rt.ID)
//	r.Close()
//
// A session has one runtime: Start of a session that has one returns it, and resumes it.
// Its state is stored before anything is started, so that a process that is killed leaves
// no sandbox that the next one does not find: Open compares the stored runtimes with the
// running ones, and removes sandboxes of which it has no record. Only one process may use
// a provider's directory at a time.
//
// # Concurrency and failure
//
// A Registry is safe for concurrent use. Changes of one runtime happen one after the
// other. Errors: fault.NotFound for a runtime that does not exist, or that is another
// owner's; fault.RateLimit for an owner who has as many as the quota allows;
// fault.Unsupported, with the field's name, for fields that the provider cannot fulfil;
// fault.Conflict for a session that was started otherwise; and the errors of package
// sandbox.
package registry

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/pool"
)

// Options configure a Registry.
type Options struct {
	// Provider starts the sandboxes. Required.
	Provider sandbox.Provider
	// Containers says that the provider starts from images.
	Containers bool
	// Self is the binary of Deft, an absolute path. Required.
	Self string
	// Small is the program that is all but the agent server, and starts sooner; "" for
	// Self.
	Small string
	// Dir holds the workspaces, in a directory for each runtime. Required.
	Dir string
	// Hidden are paths that no sandbox shows.
	Hidden []string
	// Env is the environment that all servers have; a request's is added.
	Env []string
	// Network has the hosts that sandboxes may reach.
	Network sandbox.Network
	// Limits of a sandbox with the resource factor 1.
	Limits sandbox.Limits
	// Ignore are fields of requests that are passed over where the provider cannot do as
	// they say, instead of refusing the request.
	Ignore []string
	// Store keeps the runtimes. Required.
	Store Store
	// Addresses gives them addresses. Required.
	Addresses Addresses
	// Idle is after which time without a request a runtime is paused; 0 for never.
	Idle time.Duration
	// Keep is how long a paused or stopped runtime is kept; 0 for ever.
	Keep time.Duration
	Log  *slog.Logger
}

// Times that clients wait.
const (
	// startWait is how long a request waits for a sandbox that starts: an image that is
	// fetched takes minutes, and clients ask again.
	startWait = 20 * time.Second
	startTime = 15 * time.Minute
	stopTime  = time.Minute
)

// Registry holds runtimes.
type Registry struct {
	o      Options
	pool   *pool.Pool
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
	claims latencies

	mu       sync.Mutex
	runtimes map[string]*entry // by ID
	sessions map[session]*entry
	waiting  map[string]sandbox.Sandbox // the pool's, by ID; nil while one starts
	classes  map[pool.Class]class
}

type session struct{ owner, id string }

// entry is a runtime with this process's state of it.
type entry struct {
	// turn is held by changes of the runtime.
	turn chan struct{}
	// claimed is the pool's sandbox that the runtime is to have; nil once it has it.
	claimed sandbox.Sandbox

	mu      sync.Mutex
	rt      Runtime
	gone    bool
	sandbox sandbox.Sandbox // nil if it does not run
	cancel  func()          // ends its start; nil if it is not being started
	unseen  bool            // its start ends when its client is gone, or was answered
	clients int             // requests under way
	used    time.Time
	cpu     time.Duration // when it was last looked at
}

func newEntry(rt Runtime) *entry {
	return &entry{rt: rt, turn: make(chan struct{}, 1), used: time.Now()}
}

func (e *entry) snapshot() Runtime {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.rt
}

// Open opens the registry and goes on with the runtimes that are stored. The caller closes
// it.
func Open(ctx context.Context, o Options) (*Registry, error) {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if err := os.MkdirAll(o.Dir, 0o711); err != nil { // other users enter their own workspace
		return nil, fault.Wrap(err, fault.Denied, "make the directory of workspaces")
	}
	r := &Registry{
		o: o, runtimes: map[string]*entry{}, sessions: map[session]*entry{}, waiting: map[string]sandbox.Sandbox{}, classes: map[pool.Class]class{},
	}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	stored, err := o.Store.Load(ctx)
	if err != nil {
		return nil, err
	}
	for _, rt := range stored {
		e := newEntry(rt)
		r.runtimes[rt.ID], r.sessions[session{rt.Owner, rt.SessionID}] = e, e
	}
	if err := r.reconcile(ctx); err != nil {
		return nil, err
	}
	r.pool = pool.New(pool.Options{Maker: poolMaker{r}, Log: o.Log})
	r.wg.Go(r.reap)
	return r, nil
}

// reconcile finds out the state of the stored runtimes, and removes the leftovers of
// others.
func (r *Registry) reconcile(ctx context.Context) error {
	for _, e := range r.runtimes {
		if err := r.recover(ctx, e); err != nil {
			return err
		}
	}
	return r.removeOrphans(ctx)
}

func (r *Registry) recover(ctx context.Context, e *entry) error {
	rt := e.snapshot()
	if rt.State == Stopped {
		return nil
	}
	s, err := r.o.Provider.Get(ctx, rt.ID)
	switch {
	case fault.Is(err, fault.NotFound):
		return r.ended(ctx, e, "it ended while the server was down")
	case err != nil:
		return err
	case rt.State == Starting: // whether it got its command cannot be known
		if err := s.Stop(ctx); err != nil {
			return err
		}
		return r.ended(ctx, e, "the server was stopped while it started")
	}
	e.sandbox = s
	r.watch(e, s)
	return r.update(ctx, e, r.open)
}

// removeOrphans removes the sandboxes and workspaces that are neither a runtime's nor the
// pool's: leftovers of a process that was killed.
func (r *Registry) removeOrphans(ctx context.Context) error {
	known := map[string]bool{} // also runtimes that are removed while this goes on
	note := func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		for id := range r.runtimes {
			known[id] = true
		}
		for id := range r.waiting {
			known[id] = true
		}
	}
	note()
	list, err := r.o.Provider.List(ctx)
	if err != nil {
		return err
	}
	var ids []string
	for _, s := range list {
		ids = append(ids, s.ID)
	}
	entries, err := os.ReadDir(r.o.Dir)
	if err != nil {
		return fmt.Errorf("list workspaces: %w", err)
	}
	for _, e := range entries {
		ids = append(ids, e.Name())
	}
	note()
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		if known[id] {
			continue
		}
		r.o.Log.Info("a sandbox without a record is removed", "sandbox", id)
		if err := r.remove(ctx, id); err != nil {
			r.o.Log.Warn("a sandbox without a record cannot be removed", "sandbox", id, "err", err)
		}
	}
	return nil
}

// remove removes a sandbox and its workspace.
func (r *Registry) remove(ctx context.Context, id string) error {
	if err := r.o.Provider.Remove(ctx, id); err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Join(r.o.Dir, id)); err != nil {
		return fmt.Errorf("remove the workspace of %s: %w", id, err)
	}
	return nil
}

func (r *Registry) workspace(id string) string { return filepath.Join(r.o.Dir, id, "workspace") }

// machineID is the file that a container shows as /etc/machine-id: all containers of an
// image would have the image's.
func (r *Registry) machineID(id string) string { return filepath.Join(r.o.Dir, id, "machine-id") }

// Close removes the pool's sandboxes. Runtimes run on.
func (r *Registry) Close() {
	r.pool.Close()
	r.cancel()
	r.wg.Wait()
}

// update changes a runtime and stores it. The caller holds its turn, or nobody else has the
// entry.
func (r *Registry) update(ctx context.Context, e *entry, change func(*Runtime) error) error {
	rt := e.snapshot()
	was := rt.State
	if err := change(&rt); err != nil {
		return err
	}
	if rt.State != was {
		rt.Changed = time.Now().UTC()
	}
	if err := r.o.Store.Save(ctx, rt); err != nil {
		return err
	}
	e.mu.Lock()
	e.rt = rt
	e.mu.Unlock()
	return nil
}

// ended records that a runtime has ended without being asked to.
func (r *Registry) ended(ctx context.Context, e *entry, reason string) error {
	e.mu.Lock()
	e.sandbox = nil
	id := e.rt.ID
	e.mu.Unlock()
	r.o.Addresses.Close(id)
	r.o.Log.Warn("a runtime has ended", "runtime", id, "reason", reason)
	return r.update(ctx, e, func(rt *Runtime) error {
		rt.State, rt.Reason = Stopped, reason
		return nil
	})
}

// watch records the end of a sandbox.
func (r *Registry) watch(e *entry, s sandbox.Sandbox) {
	r.wg.Go(func() {
		select {
		case <-s.Done():
		case <-r.ctx.Done():
			return
		}
		if !e.take(r.ctx) {
			return
		}
		defer e.release()
		e.mu.Lock()
		current := e.sandbox == s && !e.gone
		e.mu.Unlock()
		if !current {
			return
		}
		reason := "its program has ended"
		if st, err := s.Status(r.ctx); err == nil && st.Reason.Cause != "" {
			reason = string(st.Reason.Cause)
			if st.Reason.Cause == sandbox.CauseExited {
				reason += " with code " + strconv.Itoa(st.Reason.ExitCode)
			}
			if st.Reason.Message != "" && st.Reason.Message != reason {
				reason += ": " + st.Reason.Message
			}
		}
		if err := r.ended(r.ctx, e, reason); err != nil {
			r.o.Log.Error("the end of a runtime cannot be stored", "runtime", s.ID(), "err", err)
		}
	})
}

// take waits for the entry's turn, and reports whether it has it.
func (e *entry) take(ctx context.Context) bool {
	select {
	case e.turn <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (e *entry) release() { <-e.turn }
