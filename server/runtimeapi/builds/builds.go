// Package builds builds the images that clients of a Runtime API upload. It knows no HTTP.
//
// # Usage
//
//	q, err := builds.Open(ctx, builds.Options{Builder: engine, Store: s, Dir: dir})
//	u, err := q.Upload("ci")            // takes a place in the queue
//	defer u.Close()                     // gives it back, unless the build was started
//	err = u.ReadContext(body)           // a tar.gz, which is checked
//	b, err := u.Start(ctx, []string{"deft.local/ci/runtime:1"})
//	b, err = q.Get("ci", b.ID)
//	q.Close()
//
// A build goes on when its client has disconnected. It does not survive the process: Open
// gives those that were under way the status Failure, with the reason.
//
// # Concurrency and failure
//
// A Queue is safe for concurrent use, an Upload is used by one goroutine. Errors:
// fault.RateLimit if the queue is full or the owner has as many builds as it may,
// fault.Invalid for an archive that is refused, fault.Conflict for an image that is being
// built from something else, fault.NotFound for a build that there is not, or that is
// another owner's.
package builds

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/sandbox/image"
)

// Status is how far a build is, in the words of the contract.
type Status string

// Statuses. The last four are final.
const (
	Queued   Status = "QUEUED"
	Working  Status = "WORKING"
	Success  Status = "SUCCESS"
	Failure  Status = "FAILURE"
	TimedOut Status = "TIMEOUT"
	Internal Status = "INTERNAL_ERROR"
)

// Finished reports whether the status is final.
func (s Status) Finished() bool { return s != Queued && s != Working }

// Build is one build of an image.
type Build struct {
	ID    string `json:"id"`
	Owner string `json:"owner"`
	// Tags are the names of the image; the first one identifies it.
	Tags   []string `json:"tags"`
	Status Status   `json:"status"`
	// Reason says why it has failed.
	Reason string `json:"reason,omitempty"`
	// Digest identifies the context.
	Digest  string    `json:"digest"`
	Created time.Time `json:"created"`
	// Log is its last output, once it is finished, for the Store only; LogSkipped is how
	// many bytes came before that.
	Log        string `json:"log,omitempty"`
	LogSkipped int64  `json:"log_skipped,omitempty"`
}

// Store keeps builds between two processes.
type Store interface {
	// LoadBuilds returns all.
	LoadBuilds(ctx context.Context) ([]Build, error)
	// SaveBuild adds or replaces one.
	SaveBuild(ctx context.Context, b Build) error
	// DeleteBuild removes one, if there is one.
	DeleteBuild(ctx context.Context, id string) error
}

// Options configure a Queue.
type Options struct {
	// Builder builds the images. Required.
	Builder image.ContextBuilder
	// Store keeps the builds. Required.
	Store Store
	// Dir holds the contexts of unfinished builds. Present files in it are removed.
	// Required.
	Dir string
	// Network, MemoryBytes and CPUs hold for the steps of a build.
	Network     bool
	MemoryBytes int64
	CPUs        float64
	// Timeout ends a build; default 30 minutes, after which clients give up.
	Timeout time.Duration
	Log     *slog.Logger
}

// Limits.
const (
	parallel    = 2  // builds at a time
	maxPlaces   = 12 // unfinished builds, with builds that are being uploaded
	maxOwned    = 4  // of those, of one owner
	maxFinished = 50 // finished builds that are kept of one owner
	maxTags     = 8
	saveTime    = 10 * time.Second
)

// Queue holds builds.
type Queue struct {
	o       Options
	ctx     context.Context
	cancel  context.CancelFunc
	wg      sync.WaitGroup
	working chan struct{}

	mu     sync.Mutex
	places map[string]int // in use, by owner
	builds map[string]*entry
}

type entry struct {
	mu  sync.Mutex
	b   Build
	log log
}

func (e *entry) snapshot() Build {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.b
}

// Open returns a Queue with the builds of earlier processes. The caller closes it.
func Open(ctx context.Context, o Options) (*Queue, error) {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	o.Timeout = cmp.Or(o.Timeout, 30*time.Minute)
	err := os.RemoveAll(o.Dir)
	if err == nil {
		err = os.MkdirAll(o.Dir, 0o700)
	}
	if err != nil {
		return nil, fault.Wrap(err, fault.Denied, "make the directory of builds")
	}
	stored, err := o.Store.LoadBuilds(ctx)
	if err != nil {
		return nil, err
	}
	q := &Queue{o: o, working: make(chan struct{}, parallel), places: map[string]int{}, builds: map[string]*entry{}}
	for _, b := range stored {
		if !b.Status.Finished() {
			b.Status, b.Reason = Failure, "the server was stopped during the build; start it again"
			if err := o.Store.SaveBuild(ctx, b); err != nil {
				return nil, err
			}
		}
		e := &entry{log: log{b.LogSkipped, []byte(b.Log)}}
		b.Log = "" // it is there already
		e.b = b
		q.builds[b.ID] = e
	}
	q.ctx, q.cancel = context.WithCancel(context.Background())
	return q, nil
}

// Close ends the builds that are under way.
func (q *Queue) Close() {
	q.mu.Lock() // no build begins after that
	q.cancel()
	q.mu.Unlock()
	q.wg.Wait()
}

// Get returns a build of an owner.
func (q *Queue) Get(owner, id string) (Build, error) {
	e, err := q.find(owner, id)
	if err != nil {
		return Build{}, err
	}
	return e.snapshot(), nil
}

// ReadLog returns a build's output from an offset in bytes on, and the offset of the
// next byte. The beginning of a long log is left out.
func (q *Queue) ReadLog(owner, id string, offset int64) (text string, next int64, err error) {
	e, err := q.find(owner, id)
	if err != nil {
		return "", 0, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	text, next = e.log.from(offset)
	return text, next, nil
}

func (q *Queue) find(owner, id string) (*entry, error) {
	q.mu.Lock()
	e := q.builds[id]
	q.mu.Unlock()
	if e == nil || e.snapshot().Owner != owner {
		return nil, fault.New(fault.NotFound, fmt.Sprintf("there is no build %.40q", id))
	}
	return e, nil
}

// enqueue starts the build of an upload, which has a place. started is false if the same
// build is under way already.
func (q *Queue) enqueue(ctx context.Context, b Build, path string) (_ Build, started bool, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ctx.Err() != nil {
		return Build{}, false, fault.New(fault.Unavailable, "the server is being stopped")
	}
	for _, other := range q.builds {
		o := other.snapshot()
		switch {
		case o.Status.Finished() || o.Tags[0] != b.Tags[0]:
		case o.Owner == b.Owner && o.Digest == b.Digest && slices.Equal(o.Tags, b.Tags):
			return o, false, nil
		default:
			return Build{}, false, fault.New(fault.Conflict, b.Tags[0]+" is being built from other files").Hint("wait for that build to end")
		}
	}
	if err := q.o.Store.SaveBuild(ctx, b); err != nil {
		return Build{}, false, err
	}
	e := &entry{b: b}
	q.builds[b.ID] = e
	q.wg.Go(func() {
		defer q.release(b.Owner)
		defer os.Remove(path)
		q.run(e, path)
	})
	return b, true, nil
}

// release gives a place back.
func (q *Queue) release(owner string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.places[owner]--; q.places[owner] == 0 {
		delete(q.places, owner)
	}
}

// run builds when it is its turn.
func (q *Queue) run(e *entry, path string) {
	status, reason := Failure, "the server was stopped during the build; start it again"
	select {
	case q.working <- struct{}{}:
		e.mu.Lock()
		e.b.Status = Working
		b := e.b
		e.mu.Unlock()
		began := time.Now()
		status, reason = q.build(e, b, path)
		<-q.working
		q.o.Log.Info("a build has ended", "build", b.ID, "owner", b.Owner, "image", b.Tags[0], "status", status, "seconds", time.Since(began).Seconds())
	case <-q.ctx.Done():
	}
	e.mu.Lock()
	b := e.b
	b.Status, b.Reason, b.Log, b.LogSkipped = status, reason, string(e.log.text), e.log.skipped
	e.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), saveTime)
	defer cancel()
	if err := q.o.Store.SaveBuild(ctx, b); err != nil {
		q.o.Log.Error("the end of a build cannot be stored", "build", b.ID, "err", err)
	}
	e.mu.Lock()
	b.Log = "" // the entry has it
	e.b = b
	e.mu.Unlock()
	q.prune(ctx, b.Owner)
}

// build builds one image.
func (q *Queue) build(e *entry, b Build, path string) (Status, string) {
	late := errors.New("the build took longer than " + q.o.Timeout.String())
	ctx, cancel := context.WithTimeoutCause(q.ctx, q.o.Timeout, late)
	defer cancel()
	files, err := os.Open(path)
	if err != nil {
		return Internal, "the uploaded files cannot be read"
	}
	defer files.Close()
	err = q.o.Builder.BuildContext(ctx, image.Context{
		Files: files, Tags: b.Tags, Network: q.o.Network, MemoryBytes: q.o.MemoryBytes, CPUs: q.o.CPUs,
	}, func(line string) {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.log.add(line)
	})
	switch {
	case err == nil:
		return Success, ""
	case q.ctx.Err() != nil:
		return Failure, "the server was stopped during the build; start it again"
	case errors.Is(context.Cause(ctx), late):
		return TimedOut, late.Error()
	}
	reason := err.Error()
	if hint := fault.HintOf(err); hint != "" {
		reason += ": " + hint
	}
	if !q.o.Network {
		reason += " (the steps of builds have no network: deft runtime-api --build-network)"
	}
	if fault.KindOf(err) == fault.Internal {
		return Internal, reason
	}
	return Failure, reason
}

// prune removes an owner's oldest finished builds.
func (q *Queue) prune(ctx context.Context, owner string) {
	q.mu.Lock()
	var all []Build
	for _, e := range q.builds {
		if b := e.snapshot(); b.Owner == owner && b.Status.Finished() {
			all = append(all, b)
		}
	}
	slices.SortFunc(all, func(a, b Build) int { return a.Created.Compare(b.Created) })
	all = all[:max(0, len(all)-maxFinished)]
	for _, b := range all {
		delete(q.builds, b.ID)
	}
	q.mu.Unlock()
	for _, b := range all {
		if err := q.o.Store.DeleteBuild(ctx, b.ID); err != nil {
			q.o.Log.Warn("an old build cannot be removed", "build", b.ID, "err", err)
		}
	}
}

func newID() string { return strings.ToLower(rand.Text())[:20] }

// maxLog bounds the log of a build in bytes.
const maxLog = 256 << 10

// log is a build's output: the last lines, as far as they fit.
type log struct {
	skipped int64 // bytes that came before text
	text    []byte
}

// add adds a line. It cuts half of a full log at once, so that few lines copy it.
func (l *log) add(line string) {
	l.text = append(append(l.text, strings.ToValidUTF8(line, "\uFFFD")...), '\n')
	if len(l.text) <= maxLog {
		return
	}
	cut := len(l.text) - maxLog/2
	if end := bytes.IndexByte(l.text[cut:], '\n'); end >= 0 {
		cut += end + 1
	}
	l.skipped += int64(cut)
	l.text = append(l.text[:0], l.text[cut:]...)
}

// from returns the text from an offset on, and the offset after it.
func (l *log) from(offset int64) (text string, next int64) {
	next = l.skipped + int64(len(l.text))
	return string(l.text[min(max(offset, l.skipped), next)-l.skipped:]), next
}
