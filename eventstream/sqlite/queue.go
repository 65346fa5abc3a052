package sqlite

import "context"

// op is one request to the writer. apply runs inside a transaction that it
// may share with other requests. An error with a kind of package fault means
// that the request was refused and left no trace; any other error is the
// database's and undoes the whole transaction.
type op struct {
	apply func(*writer) error
	done  chan struct{}
	err   error // valid after done
}

// queue hands requests to the writer. Its channel has no buffer: a caller can
// give up until the writer takes its request.
type queue struct {
	ops    chan *op
	probe  chan struct{} // holds one token when another process may have committed
	closed chan struct{}
}

func newQueue() *queue {
	return &queue{ops: make(chan *op), probe: make(chan struct{}, 1), closed: make(chan struct{})}
}

// look asks the writer to look for the commits of other processes.
func (q *queue) look() {
	select {
	case q.probe <- struct{}{}:
	default:
	}
}

// waiting adds the requests of all callers that wait to ops.
func (q *queue) waiting(ops []*op) []*op {
	for {
		select {
		case o := <-q.ops:
			ops = append(ops, o)
		default:
			return ops
		}
	}
}

// do runs one request and waits for its result. A request that the writer
// has taken is waited for even when ctx ends, because its effect could not be
// known otherwise.
func (q *queue) do(ctx context.Context, apply func(*writer) error) error {
	if err := ctx.Err(); err != nil {
		return canceled(err)
	}
	o := &op{apply: apply, done: make(chan struct{})}
	select {
	case q.ops <- o:
	case <-ctx.Done():
		return canceled(ctx.Err())
	case <-q.closed:
		return errClosed
	}
	<-o.done
	return o.err
}
