package sqlite

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
)

// op is one request to the writer. apply runs inside a transaction that it
// may share with other requests. An error with a kind of package fault means
// that the request was refused and left no trace; any other error is the
// database's and undoes the whole transaction.
type op struct {
	apply func(*writer) error
	state atomic.Int32 // opQueued, then opTaken or opWithdrawn
	done  chan struct{}
	err   error // valid after done
}

const (
	opQueued = iota
	opTaken
	opWithdrawn
)

func newOp(apply func(*writer) error) *op {
	return &op{apply: apply, done: make(chan struct{})}
}

// queue hands requests to the writer. It holds one request for each waiting
// caller, so that its length needs no limit of its own.
type queue struct {
	mu     sync.Mutex
	ops    []*op
	spare  []*op
	closed bool
	probe  bool
	wake   chan struct{} // holds one token when there is something to do
}

func newQueue() *queue { return &queue{wake: make(chan struct{}, 1)} }

func (q *queue) push(o *op) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return errClosed
	}
	q.ops = append(q.ops, o)
	q.signal()
	return nil
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// take waits for requests and returns all there are, and whether to look for
// the commits of other processes. ok is false when the queue is closed and
// empty. The slice is valid until the next call.
func (q *queue) take() (ops []*op, probe, ok bool) {
	for {
		// Those who were woken by the last commit come first: their next
		// requests share this one.
		runtime.Gosched()
		q.mu.Lock()
		if len(q.ops) > 0 || q.probe {
			ops, probe = q.ops, q.probe
			q.ops, q.spare, q.probe = q.spare[:0], ops, false
			q.mu.Unlock()
			return ops, probe, true
		}
		closed := q.closed
		q.mu.Unlock()
		if closed {
			return nil, false, false
		}
		<-q.wake
	}
}

// look asks the writer to look for the commits of other processes.
func (q *queue) look() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.probe = true
	q.signal()
}

// waiting reports whether the writer has something better to do than to
// clean up.
func (q *queue) waiting() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.ops) > 0 || q.closed
}

func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.signal()
}

// do runs one request and waits for its result. A request that the writer
// has begun is waited for even when ctx ends, because its effect could not be
// known otherwise.
func (q *queue) do(ctx context.Context, apply func(*writer) error) error {
	if err := ctx.Err(); err != nil {
		return canceled(err)
	}
	o := newOp(apply)
	if err := q.push(o); err != nil {
		return err
	}
	select {
	case <-o.done:
		return o.err
	case <-ctx.Done():
	}
	if o.state.CompareAndSwap(opQueued, opWithdrawn) {
		return canceled(ctx.Err())
	}
	<-o.done
	return o.err
}
