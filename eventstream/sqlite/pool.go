package sqlite

import (
	"context"
	"errors"
)

// pool lends connections for reading. A connection is lent for one short
// transaction, never across a yield to the caller.
type pool struct {
	path  string
	slots chan *conn // nil stands for a connection not opened yet
	done  chan struct{}
}

func newPool(path string, n int) *pool {
	p := &pool{path: path, slots: make(chan *conn, n), done: make(chan struct{})}
	for range n {
		p.slots <- nil
	}
	return p
}

// read runs fn in a read transaction: all it sees is of one moment.
func (p *pool) read(ctx context.Context, fn func(*conn) error) error {
	if err := ctx.Err(); err != nil {
		return canceled(err)
	}
	var c *conn
	select {
	case c = <-p.slots:
	case <-ctx.Done():
		return canceled(ctx.Err())
	case <-p.done:
		return errClosed
	}
	defer func() { p.slots <- c }()
	if c == nil {
		var err error
		if c, err = dial(p.path, "busy_timeout = 30000", "query_only = 1", "cache_size = -512"); err != nil {
			return storage(err) // c is nil again
		}
	}
	if _, err := c.exec("BEGIN"); err != nil {
		return storage(err)
	}
	err := fn(c)
	if _, end := c.exec("ROLLBACK"); end != nil {
		// A connection that cannot end its transaction would pin the past.
		err = errors.Join(err, end, c.close())
		c = nil
	}
	return storage(err)
}

// close waits for the reads that run.
func (p *pool) close() error {
	close(p.done)
	var errs []error
	for range cap(p.slots) {
		if c := <-p.slots; c != nil {
			errs = append(errs, c.close())
		}
	}
	return errors.Join(errs...)
}
