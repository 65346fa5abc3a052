package job

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
)

// Options configure an [Engine]. All are required.
type Options struct {
	Store Store
	Lock  Lock
	Log   *slog.Logger
}

// Engine does the jobs of a server.
type Engine struct {
	o      Options
	ctx    context.Context // ends with Close
	stop   context.CancelFunc
	others sync.WaitGroup // work beside the jobs

	joining sync.Mutex // held while the server acquires its lock

	mu     sync.Mutex
	closed bool
	kinds  map[string]*kind
	now    *tenure // nil until there is a job
	ending map[event.ConversationID]*tenure
	wakes  map[subject]*wake
	none   map[subject]struct{} // without a job
}

// tenure is the time in which the server holds its lock.
type tenure struct {
	id      event.ConversationID // of the lock; jobs name it as their server
	release func()
	ctx     context.Context
	cancel  context.CancelFunc
	working sync.WaitGroup
	over    chan struct{} // closed when the lock is released
	atWork  map[string]*active
}

var errClosed = fault.New(fault.Unavailable, "the server stops").Hint("try again in a moment")

// New returns an engine without kinds.
func New(o Options) *Engine {
	e := &Engine{
		o: o, kinds: map[string]*kind{}, ending: map[event.ConversationID]*tenure{}, wakes: map[subject]*wake{}, none: map[subject]struct{}{},
	}
	e.ctx, e.stop = context.WithCancel(context.Background())
	return e
}

// Register adds a kind. It is called before the engine has a job of it.
func (e *Engine) Register(k Kind) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.kinds[k.Name] = newKind(k)
}

// names returns the names of the registered kinds.
func (e *Engine) names() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Sorted(maps.Keys(e.kinds))
}

// Request describes a job to add. Kind is required.
type Request struct {
	// ID is chosen if it is empty. A job whose ID exists is not added again.
	ID      string
	Kind    string
	Owner   identity.Tenant
	Subject event.ConversationID
	Key     string
	// Args and Progress are encoded as JSON; nil for {}.
	Args, Progress any
	// Due is when the job runs first; zero for at once.
	Due time.Time
	// Created is now if it is zero.
	Created time.Time
	// Then is called when this server is through with the job; nil for nothing.
	Then func()
}

func (n Request) job(server event.ConversationID, s State) (Job, error) {
	if n.ID == "" {
		n.ID = event.NewConversationID().Hex()
	}
	j := Job{ID: n.ID, Kind: n.Kind, Owner: n.Owner, Subject: n.Subject, Key: n.Key, State: s, Due: n.Due, Server: server, Created: n.Created}
	if j.Created.IsZero() {
		j.Created = now()
	}
	j.Updated = j.Created
	for to, from := range map[*json.RawMessage]any{&j.Args: n.Args, &j.Progress: n.Progress} {
		*to = json.RawMessage("{}")
		if from == nil {
			continue
		}
		raw, err := json.Marshal(from)
		if err != nil {
			return j, fmt.Errorf("encode a job of the kind %s: %w", n.Kind, err)
		}
		*to = raw
	}
	return j, nil
}

func now() time.Time { return time.Now().UTC().Truncate(time.Microsecond) }

// Add stores a job, and runs it in the background when it is due. by stores it instead of
// [Store.AddJobs], together with its caller's other rows; nil for that. [ErrExists] if its
// key is taken.
func (e *Engine) Add(ctx context.Context, n Request, by func(context.Context, Job) error) (Job, error) {
	t, err := e.tenure(ctx)
	if err != nil {
		return Job{}, err
	}
	j, err := n.job(t.id, Ready)
	if err != nil {
		return j, err
	}
	if by == nil {
		by = func(ctx context.Context, j Job) error { return e.o.Store.AddJobs(ctx, j) }
	}
	if err := by(ctx, j); err != nil {
		return j, err
	}
	mine := j // changes while the caller has j
	e.begin(t, &active{id: j.ID, loaded: &mine, then: n.Then})
	return j, nil
}

// AddParked stores jobs that have nothing to do until they are woken.
func (e *Engine) AddParked(ctx context.Context, all ...Request) error {
	jobs := make([]Job, len(all))
	for i := range all {
		var err error
		if jobs[i], err = all[i].job("", Parked); err != nil {
			return err
		}
	}
	if err := e.o.Store.AddJobs(ctx, jobs...); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := range jobs {
		delete(e.none, subject{jobs[i].Kind, jobs[i].Subject})
	}
	return nil
}

// tenure returns the current tenure. It begins one if there is none.
func (e *Engine) tenure(ctx context.Context) (*tenure, error) {
	e.joining.Lock()
	defer e.joining.Unlock()
	e.mu.Lock()
	t, closed := e.now, e.closed
	e.mu.Unlock()
	switch {
	case closed:
		return nil, errClosed
	case t != nil:
		return t, nil
	}
	t = &tenure{id: event.NewConversationID(), over: make(chan struct{}), atWork: map[string]*active{}}
	var err error
	if t.release, err = e.o.Lock.Acquire(ctx, t.id); err != nil {
		return nil, fmt.Errorf("lock the jobs of this server: %w", err)
	}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	e.mu.Lock()
	defer e.mu.Unlock()
	e.now = t
	return t, nil
}

// Start runs the jobs that servers have left which have ended.
func (e *Engine) Start(ctx context.Context) error {
	servers, err := e.o.Store.JobServers(ctx, e.names())
	if err != nil {
		return err
	}
	for _, id := range servers {
		if err := e.recover(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// recover takes the jobs of a server over, unless it lives.
func (e *Engine) recover(ctx context.Context, server event.ConversationID) error {
	if server != "" {
		release, err := e.o.Lock.Acquire(ctx, server)
		if fault.Is(err, fault.Conflict) {
			return nil
		}
		if err != nil {
			return err
		}
		defer release()
	}
	_, err := e.takeOver(ctx, server)
	return err
}

// Recover takes a job of a kind and a subject over at once if its server has ended, whether
// that was noticed or not. It reports whether there is such a job that has not ended.
func (e *Engine) Recover(ctx context.Context, kind string, about event.ConversationID) (found bool, err error) {
	server, err := e.o.Store.JobServer(ctx, kind, about)
	if fault.Is(err, fault.NotFound) {
		return false, nil
	}
	if err == nil {
		err = e.recover(ctx, server)
	}
	return true, err
}

// Orphaned takes the jobs of a server over that has ended. It reports whether the id is the
// lock of a server with jobs. A session.LockWatcher calls it.
func (e *Engine) Orphaned(id event.ConversationID) bool {
	e.mu.Lock()
	own := e.ending[id]
	e.mu.Unlock()
	if own != nil { // this server has lost the lock
		<-own.over
	}
	found, err := e.takeOver(e.ctx, id)
	if err != nil && e.ctx.Err() == nil {
		e.o.Log.Warn("take over the jobs of a server that has ended", "err", err)
	}
	return found || own != nil
}

// takeOver leases and runs the jobs of a server.
func (e *Engine) takeOver(ctx context.Context, from event.ConversationID) (found bool, err error) {
	t, err := e.tenure(ctx)
	if err != nil || t.id == from {
		return false, err
	}
	ids, err := e.o.Store.MoveJobs(ctx, from, t.id, e.names())
	for _, id := range ids {
		e.begin(t, &active{id: id, left: true})
	}
	return len(ids) > 0, err
}

// Lost stops the jobs of this server after its lock was lost: another server may take them
// over. It returns when they have stopped, and reports whether the lock was the engine's.
// Jobs that nobody else takes continue here when the lock can be acquired again.
func (e *Engine) Lost(id event.ConversationID) bool {
	e.mu.Lock()
	t := e.now
	if t == nil || t.id != id {
		e.mu.Unlock()
		return false
	}
	e.now = nil
	e.ending[id] = t
	t.cancel()
	e.mu.Unlock()
	t.working.Wait()
	t.release()
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.ending, id)
	close(t.over)
	if !e.closed {
		e.others.Go(func() { e.regain(id) })
	}
	return true
}

// regain takes back the jobs of a tenure of this server that has ended.
func (e *Engine) regain(id event.ConversationID) {
	for failures := 1; ; failures++ {
		_, err := e.takeOver(e.ctx, id)
		if err == nil || !e.pause(e.ctx, failures, "take back the jobs of this server", err) {
			return
		}
	}
}

// closeTimeout bounds the last statement of an engine.
const closeTimeout = 5 * time.Second

// Close stops the jobs at work, which continue at the next [Engine.Start].
func (e *Engine) Close() {
	e.mu.Lock()
	closed := e.closed
	e.closed = true
	e.mu.Unlock()
	if closed {
		return
	}
	e.stop()
	e.others.Wait()
	e.joining.Lock() // a tenure that begins comes first
	defer e.joining.Unlock()
	e.mu.Lock()
	t := e.now
	e.now = nil
	if t != nil {
		t.cancel()
	}
	e.mu.Unlock()
	if t == nil {
		return
	}
	t.working.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if _, err := e.o.Store.MoveJobs(ctx, t.id, "", e.names()); err != nil { // the free lock says as much
		e.o.Log.Warn("release the jobs of this server", "err", err)
	}
	t.release()
	close(t.over)
}

// Cancel asks for the end of a job. A job that this server runs, or that no server runs, is
// ended at once; another server ends it with the next change that it stores. NotFound if the
// job has ended.
func (e *Engine) Cancel(ctx context.Context, id string) error {
	server, err := e.o.Store.CancelJob(ctx, id)
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if t := e.now; t != nil && t.id == server && t.atWork[id] != nil {
		t.atWork[id].cancel(ErrCancelled)
	}
	return nil
}
