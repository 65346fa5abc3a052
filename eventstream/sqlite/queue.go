package sqlite

import (
	"context"
	"errors"
	"runtime"
)

// op is one request to the writer. apply runs inside a transaction that it
// may share with other requests. An error with a kind of package fault means
// that the request was refused and left no trace; any other error is the
// database's and undoes the whole transaction.
type op struct {
	apply func(*writer) error
	done  chan struct{}
	err   error // valid after done
}

// queue hands the writer to who has a request. A caller that finds it free writes
// itself, which takes no switch to another goroutine; one that does not waits for
// the writer and for another caller that takes the request along, whichever comes
// first. Its channels of requests have no buffer: a caller can give up until then.
type queue struct {
	writer chan *writer // holds it while nobody writes
	ops    chan *op
	probe  chan struct{} // holds one token when another process may have committed
	clean  chan struct{} // holds one token when there may be events to clean up
	closed chan struct{}
}

func newQueue() *queue {
	return &queue{
		writer: make(chan *writer, 1), ops: make(chan *op),
		probe: make(chan struct{}, 1), clean: make(chan struct{}, 1), closed: make(chan struct{}),
	}
}

// signal puts a token into a channel that holds one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// look asks for a look for the commits of other processes.
func (q *queue) look() { signal(q.probe) }

// do runs one request and waits for its result. A request that has been taken is
// waited for even when ctx ends, because its effect could not be known otherwise.
func (q *queue) do(ctx context.Context, apply func(*writer) error) error {
	if err := ctx.Err(); err != nil {
		return canceled(err)
	}
	o := &op{apply: apply, done: make(chan struct{})}
	select {
	case w := <-q.writer:
		q.write(w, o)
	case q.ops <- o:
		<-o.done
	case <-ctx.Done():
		return canceled(ctx.Err())
	case <-q.closed:
		return errClosed
	}
	return o.err
}

// errUnfinished is the result of a request in whose transaction a bug panicked.
var errUnfinished = errors.New("the write ended before its commit")

// write runs a request and those that wait with it, and gives the writer back.
func (q *queue) write(w *writer, first *op) {
	ops := []*op{first}
	finished := false
	defer func() {
		if !finished {
			_ = w.rollback(errUnfinished)
		}
		if w.cleaning {
			signal(q.clean)
		}
		q.writer <- w
		for i, o := range ops {
			if !finished {
				o.err = errUnfinished
			}
			close(o.done)
			if i > 0 { // to wake hundreds of callers at once would delay everything else
				runtime.Gosched()
			}
		}
	}()
	// The callers that the last commit woke come first: their next requests
	// share this one.
	runtime.Gosched()
	for waiting := true; waiting; {
		select {
		case o := <-q.ops:
			ops = append(ops, o)
		default:
			waiting = false
		}
	}
	w.commit(ops)
	finished = true
}

// background does the work that no caller waits for, until the queue is closed.
func (q *queue) background() {
	for {
		var work func(*writer)
		select {
		case <-q.probe:
			work = func(w *writer) {
				if w.notice() != nil {
					w.topics.wakeAll() // followers get the error when they read
				}
			}
		case <-q.clean:
			work = func(w *writer) {
				if w.cleanUp(); w.cleaning { // in small steps, or writers would wait
					signal(q.clean)
				}
			}
		case <-q.closed:
			return
		}
		select {
		case w := <-q.writer:
			work(w)
			q.writer <- w
		case <-q.closed:
			return
		}
	}
}

// close refuses new requests, and waits for the one being written.
func (q *queue) close() {
	close(q.closed)
	<-q.writer // and keeps it
}
