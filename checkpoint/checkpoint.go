// Package checkpoint keeps the files of workspaces as they were at events of
// conversations, so that they can be brought back or given to a fork.
//
// # Usage
//
//	s := checkpoint.New(checkpoint.Options{Dir: dir})
//	r, err := s.Take(ctx, checkpoint.Point{Workspace: dir, Conversation: id, Event: ev})
//	…
//	r, err = s.Find(ctx, checkpoint.Point{…})
//	changes, err := s.Restore(ctx, checkpoint.Point{…}, r)
//
// # What is kept
//
// The content, the executable bit and the links of all files, including files that
// the user's Git ignores, byte by byte. Left alone, which means neither kept nor
// changed by a restore, are everything named .git (commits, branches and the
// staging area of the user's repositories), caches that tools fill again
// (node_modules and the like, directories with a CACHEDIR.TAG or a pyvenv.cfg),
// files above 64 MiB, unreadable files, sockets and devices, and empty
// directories. [Record.LeftOut] names the files that were there and are not kept.
//
// # How
//
// Git's own commands find changed files only in one repository and leave out ignored
// files, and the repositories inside it, so the files are found here and stored by
// Git. Each workspace has a bare Git repository of its own below Options.Dir, never in
// the workspace. Its index says which files have changed since the last time, so that
// a checkpoint reads no others. Git reads no configuration but ours: no hook, filter
// or attribute of the workspace has an effect. Where the kernel has Landlock it can
// open nothing but the workspace and that repository, so links that are exchanged
// meanwhile lead nowhere.
//
// # Durability
//
// The record of a checkpoint is written last, in one piece: a process that is
// killed leaves all of it or nothing.
//
// # Concurrency and failure
//
// A Store is safe for concurrent use, by several processes too: one at a time
// works on a workspace. Workspaces with too many files, or too much to read, are
// errors of kind Limit; a checkpoint that is not there is NotFound.
package checkpoint

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/filelock"
	"github.com/deft-dev/deft/internal/realpath"
)

// Bounds of one checkpoint.
const (
	maxFiles    = 200_000  // of a workspace
	maxFileSize = 64 << 20 // larger ones are left out
	maxNewBytes = 2 << 30  // to be read and stored at a time
	maxDepth    = 200      // directories in each other; deeper ones are left out
)

// Options say where checkpoints are. Dir is required.
type Options struct {
	// Dir holds the checkpoints of all workspaces; it is made with mode 0700.
	Dir string
	// Exclude are directories that are left out where they lie in a workspace,
	// such as Deft's own data, of which Dir is a part.
	Exclude []string
	// Timeout bounds [Store.Take]; 15 seconds by default. A workspace that takes
	// longer is not tried again for some time.
	Timeout time.Duration
	// StepTime bounds the checkpoint of a step; after a longer one the following are
	// left out ([ErrSlow]); 250 milliseconds by default.
	StepTime time.Duration
	// StepFiles is how many files a workspace has at least whose steps are left out: with
	// fewer, the machine is busy, not the workspace large. 1,000 by default.
	StepFiles int
}

// Store has the checkpoints of all workspaces.
type Store struct{ o Options }

// New returns a Store. Nothing is made on disk before the first checkpoint.
func New(o Options) *Store {
	o.Timeout = cmp.Or(o.Timeout, 15*time.Second)
	o.StepTime = cmp.Or(o.StepTime, 250*time.Millisecond)
	o.StepFiles = cmp.Or(o.StepFiles, 1000)
	return &Store{o: o}
}

// Point is when a checkpoint is taken.
type Point struct {
	Workspace    string // absolute
	Conversation event.ConversationID
	// Event is the event after which nothing has changed the files.
	Event event.ID
	// Checkout is Git's checked-out commit, for the [Record].
	Checkout
	// Again replaces a checkpoint of the event that is there already.
	Again bool
	// Step says that it is one of many between two messages of the user.
	Step bool
}

// Checkout is the commit and branch that Git has checked out, or had.
type Checkout struct {
	// Commit is "" for none.
	Commit string `json:"commit,omitempty"`
	// Ref is the branch, "HEAD" without one, or "" where it is not known.
	Ref string `json:"ref,omitempty"`
}

// Record is one checkpoint.
type Record struct {
	Event event.ID  `json:"event"`
	Tree  string    `json:"tree"`
	Time  time.Time `json:"time"`
	Files int       `json:"files"`
	// NewBytes is the size of the files that had to be read for it.
	NewBytes int64 `json:"new_bytes,omitempty"`
	Checkout
	// LeftOut are the first paths that were there and are not kept.
	LeftOut []string `json:"left_out,omitempty"`
	// Private are files without rights for others, up to some; AllPrivate says
	// that there are more, and that restored files get no such rights at all.
	Private    []string `json:"private,omitempty"`
	AllPrivate bool     `json:"all_private,omitempty"`
}

// Available reports whether checkpoints can be taken on this machine: they need git.
func Available() bool {
	_, err := exec.LookPath("git")
	return err == nil
}

// ErrSlow is the error of [Store.Take] for a step in a large workspace where the last one
// took longer than Options.StepTime. Steps are taken again once another checkpoint is as fast.
var ErrSlow = fault.New(fault.Limit, "checkpoints of single steps take too long here")

// Take records the files of a workspace. An existing checkpoint stays unchanged,
// unless the point says Again.
func (s *Store) Take(ctx context.Context, p Point) (Record, error) {
	limited, cancel := context.WithTimeoutCause(ctx, s.o.Timeout, errTooLong)
	defer cancel()
	w, err := s.open(limited, p.Workspace)
	if err != nil {
		return Record{}, err
	}
	defer w.close()
	if r, err := w.record(p.Conversation, p.Event); !p.Again && !fault.Is(err, fault.NotFound) {
		return r, err
	}
	if err := w.mayTake(); err != nil {
		return Record{}, err
	}
	if p.Step && exists(w.path(slowSteps)) {
		return Record{}, ErrSlow
	}
	began := time.Now()
	r, err := w.snapshot(limited)
	if err == nil {
		r.Event, r.Checkout = p.Event, p.Checkout
		err = w.keep(p.Conversation, r, writeFile)
	}
	if err != nil && errors.Is(context.Cause(limited), errTooLong) && ctx.Err() == nil {
		return Record{}, errors.Join(errTooLong, w.giveUp())
	}
	if err == nil {
		err = errors.Join(os.RemoveAll(w.path(gaveUp)), w.noteTime(p, r.Files >= s.o.StepFiles && time.Since(began) > s.o.StepTime))
	}
	return r, err
}

// Slow reports whether checkpoints of steps are left out in a workspace, see [ErrSlow].
func (s *Store) Slow(workspace string) bool {
	return exists(filepath.Join(s.storeDir(realpath.Resolve(workspace)), slowSteps))
}

// slowSteps is the file that says that the steps of a workspace are left out.
const slowSteps = "slow-steps"

// noteTime notes whether a checkpoint was slow. The first one of a workspace is, and says
// nothing about steps.
func (w *workspace) noteTime(p Point, slow bool) error {
	switch {
	case p.Step && slow:
		if err := os.WriteFile(w.path(slowSteps), nil, 0o600); err != nil {
			return fmt.Errorf("note a workspace whose steps are slow: %w", err)
		}
	case !slow:
		return os.RemoveAll(w.path(slowSteps))
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

var errTooLong = fault.New(fault.Limit, "the files of the workspace take too long to read")

// Find returns the checkpoint of an event. NotFound if there is none.
func (s *Store) Find(ctx context.Context, p Point) (Record, error) {
	w, err := s.openExisting(ctx, p.Workspace)
	if err != nil {
		return Record{}, err
	}
	defer w.close()
	return w.record(p.Conversation, p.Event)
}

// All returns the checkpoints of a conversation in a workspace by their events.
func (s *Store) All(ctx context.Context, workspace string, id event.ConversationID) (map[event.ID]Record, error) {
	w, err := s.openExisting(ctx, workspace)
	if fault.Is(err, fault.NotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer w.close()
	return w.all(id)
}

// workspace is one workspace with its repository, locked.
type workspace struct {
	dir     string   // without links
	root    *os.File // dir, open
	store   string   // our directory for it
	exclude []os.FileInfo
	unlock  func()
}

var errNoCheckpoint = fault.New(fault.NotFound, "there is no checkpoint of these files")

// storeDir is where the checkpoints of a workspace are.
func (s *Store) storeDir(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return filepath.Join(s.o.Dir, hex.EncodeToString(sum[:16]))
}

// openExisting is open, which makes nothing: NotFound without checkpoints.
func (s *Store) openExisting(ctx context.Context, dir string) (*workspace, error) {
	if _, err := os.Stat(s.storeDir(realpath.Resolve(dir))); errors.Is(err, os.ErrNotExist) {
		return nil, errNoCheckpoint
	}
	return s.open(ctx, dir)
}

// open locks a workspace's checkpoints and makes missing directories.
func (s *Store) open(ctx context.Context, path string) (_ *workspace, err error) {
	w := &workspace{dir: realpath.Resolve(path)}
	w.store = s.storeDir(w.dir)
	if err := os.MkdirAll(w.store, 0o700); err != nil {
		return nil, fmt.Errorf("make a directory for checkpoints: %w", err)
	}
	if w.unlock, err = filelock.Lock(ctx, w.path("lock")); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			w.close()
		}
	}()
	if w.root, err = openDir(w.dir); err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "open the workspace "+w.dir)
	}
	for _, dir := range append([]string{s.o.Dir}, s.o.Exclude...) {
		if info, err := os.Stat(dir); err == nil { // one that is not there is in no workspace
			w.exclude = append(w.exclude, info)
		}
	}
	if err := w.init(); err != nil {
		return nil, fmt.Errorf("make a repository for checkpoints: %w", err)
	}
	return w, nil
}

func (w *workspace) close() {
	if w.root != nil {
		_ = w.root.Close() // it was only read
	}
	w.unlock()
}

// path returns a path in the store.
func (w *workspace) path(parts ...string) string {
	return filepath.Join(append([]string{w.store}, parts...)...)
}

// gaveUp is the file that says that a workspace takes too long, and how often in a row it
// did. It is tried again after firstRetry, since the machine may only have been busy, then
// after twice as long each time.
const (
	gaveUp     = "too-large"
	firstRetry = 10 * time.Minute
	lastRetry  = 24 * time.Hour
)

// mayTake returns an error for a workspace that took too long not long ago.
func (w *workspace) mayTake() error {
	info, err := os.Stat(w.path(gaveUp))
	wait := firstRetry
	for n := w.gaveUpTimes(); n > 1 && wait < lastRetry; n-- {
		wait *= 2
	}
	if err == nil && time.Since(info.ModTime()) < min(wait, lastRetry) {
		return errTooLong
	}
	return nil
}

// gaveUpTimes is how often in a row the workspace took too long; 0 where that is not known.
func (w *workspace) gaveUpTimes() int {
	text, _ := os.ReadFile(w.path(gaveUp)) // mostly there is none
	n, _ := strconv.Atoi(string(text))     // earlier versions wrote nothing
	return n
}

func (w *workspace) giveUp() error {
	if err := os.WriteFile(w.path(gaveUp), []byte(strconv.Itoa(w.gaveUpTimes()+1)), 0o600); err != nil {
		return fmt.Errorf("note a workspace that is too large: %w", err)
	}
	return nil
}
