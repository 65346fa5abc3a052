package sandboxes

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/internal/worktree"
	"github.com/deft-dev/deft/session"
)

// Pool starts the isolation of conversations' actions before there are
// conversations: session/build has it. A member has the id of its conversation.
type Pool interface {
	// Start begins to fill the pool.
	Start()
	// Claim takes a member; no other one is started until release is called, for a second
	// at most. ok is false if there is none.
	Claim() (id event.ConversationID, release func(), ok bool)
	// Discard removes a member that was claimed, or that a server has left.
	Discard(ctx context.Context, id event.ConversationID) error
	// Close removes the members that were not claimed.
	Close()
}

// OpenPool opens a pool whose members work in the directories that prepare makes and
// discard removes.
type OpenPool func(prepare func(context.Context, event.ConversationID) (string, error), discard func(context.Context, event.ConversationID) error) (Pool, error)

// Warm are sandboxes that wait for their conversations: workspaces without an owner, around
// which a [Pool] has started the isolation. The sandbox and the conversation get the same
// id. Each has a file by its id, and a lock that this server holds, until it is claimed: so
// sandboxes of a server that was killed are found.
type Warm struct {
	s    *Service
	lock session.Lock
	dir  string
	pool Pool

	mu   sync.Mutex
	held map[event.ConversationID]func() // release the locks
}

// OpenWarm opens the sandboxes that wait. Their files are in dir. The caller closes them
// before the sessions.
func (s *Service) OpenWarm(dir string, lock session.Lock, open OpenPool) (_ *Warm, err error) {
	w := &Warm{s: s, lock: lock, dir: dir, held: map[event.ConversationID]func(){}}
	w.pool, err = open(w.prepare, w.discard)
	return w, err
}

// Start removes the sandboxes of servers that were killed, and begins to start new
// ones.
func (w *Warm) Start(ctx context.Context) error {
	err := w.sweep(ctx)
	w.pool.Start()
	return err
}

// Close removes the sandboxes that wait.
func (w *Warm) Close() { w.pool.Close() }

func (w *Warm) mark(id event.ConversationID) string { return filepath.Join(w.dir, id.Hex()) }

// prepare makes the workspace of a sandbox.
func (w *Warm) prepare(ctx context.Context, id event.ConversationID) (dir string, err error) {
	release, err := w.lock.Acquire(ctx, id)
	if err != nil {
		return "", err
	}
	w.mu.Lock()
	w.held[id] = release
	w.mu.Unlock()
	dir = filepath.Join(w.s.Workspace(id.Hex()), ProjectDirectory)
	if err = os.MkdirAll(w.dir, 0o700); err == nil {
		err = os.WriteFile(w.mark(id), nil, 0o600)
	}
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return "", fault.Wrap(err, fault.Denied, "make the workspace of a sandbox that waits")
	}
	return dir, worktree.Init(ctx, dir)
}

// release gives up the lock of a sandbox.
func (w *Warm) release(id event.ConversationID) {
	w.mu.Lock()
	release := w.held[id]
	delete(w.held, id)
	w.mu.Unlock()
	if release != nil {
		release()
	}
}

// discard removes the workspace of a sandbox that has no conversation.
func (w *Warm) discard(_ context.Context, id event.ConversationID) error {
	defer w.release(id)
	err := os.RemoveAll(w.s.Workspace(id.Hex()))
	if err == nil {
		err = os.Remove(w.mark(id)) // last: it is tried again otherwise
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.Wrap(err, fault.Denied, "remove the workspace of a sandbox that waited")
	}
	return nil
}

// sweep removes the sandboxes of servers that were killed.
func (w *Warm) sweep(ctx context.Context) error {
	left, err := os.ReadDir(w.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.Wrap(err, fault.Denied, "find sandboxes that waited")
	}
	var errs []error
	for _, e := range left {
		id, ok := event.ParseConversationID(e.Name())
		if !ok {
			continue
		}
		release, err := w.lock.Acquire(ctx, id)
		if fault.Is(err, fault.Conflict) { // another server has it
			continue
		}
		if err == nil {
			err = w.pool.Discard(ctx, id)
			release()
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Claim takes a sandbox, if one waits, for the conversation with its id. The caller stores
// who it is for, or calls [Warm.Discard]; it calls release when the conversation works.
func (w *Warm) Claim() (id event.ConversationID, release func(), ok bool) {
	for {
		if id, release, ok = w.pool.Claim(); !ok {
			return "", nil, false
		}
		err := os.Remove(w.mark(id))
		w.release(id)
		if err == nil {
			return id, release, true
		}
		release() // somebody has removed it
		w.s.o.Log.Warn("a sandbox that waits has lost its file and is not used", "sandbox", id, "err", err)
	}
}

// Discard removes a sandbox that was claimed and has no owner yet.
func (w *Warm) Discard(ctx context.Context, id event.ConversationID) error {
	return w.pool.Discard(ctx, id)
}

// CreateClaimed makes a sandbox of an owner from one that was claimed. It does nothing if
// that was done. RateLimit for one too many.
func (s *Service) CreateClaimed(ctx context.Context, owner identity.Tenant, id event.ConversationID) error {
	_, err := s.add(ctx, owner, id.Hex())
	if fault.Is(err, fault.Conflict) {
		_, err = s.Get(ctx, owner, id.Hex())
	}
	return err
}
