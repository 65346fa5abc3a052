package postgres

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
)

// Append implements [eventstream.Stream].
func (s *Store) Append(ctx context.Context, id event.ConversationID, evs ...event.Event) (eventstream.Seq, error) {
	recs := make([]eventstream.Record, len(evs))
	for i, ev := range evs {
		r, err := eventstream.Encode(ev)
		if err != nil {
			return 0, err
		}
		recs[i] = r
	}
	return s.append(ctx, id, recs)
}

// AppendRecords implements [eventstream.Stream]. It also refuses records whose JSON is
// not an object, because they are served as they are.
func (s *Store) AppendRecords(ctx context.Context, id event.ConversationID, recs ...eventstream.Record) (eventstream.Seq, error) {
	recs = slices.Clone(recs)
	for i, r := range recs {
		if r.ID == "" || r.Kind == "" {
			return 0, fault.New(fault.Invalid, "an event needs an id and a kind")
		}
		if len(r.JSON) < 2 || r.JSON[0] != '{' || !json.Valid(r.JSON) {
			return 0, fault.New(fault.Invalid, fmt.Sprintf("event %s is not a JSON object", r.ID))
		}
		recs[i].JSON = bytes.Clone(r.JSON) // the caller may change its own
	}
	return s.append(ctx, id, recs)
}

func (s *Store) append(ctx context.Context, id event.ConversationID, recs []eventstream.Record) (eventstream.Seq, error) {
	if err := ctx.Err(); err != nil {
		return 0, canceled(err)
	}
	r := &request{id: id, recs: recs, process: s.locks.holder(id), done: make(chan struct{})}
	if err := s.appender.do(ctx, s, r); err != nil {
		return 0, fmt.Errorf("append to conversation %s: %w", id, err)
	}
	return r.last, nil
}

// request is one call of Append.
type request struct {
	id      event.ConversationID
	recs    []eventstream.Record
	process int32 // that must have the conversation locked; 0 for any
	done    chan struct{}

	last eventstream.Seq // valid after done, as is err
	err  error
}

func (r *request) size() (n int) {
	for i := range r.recs {
		n += len(r.recs[i].JSON)
	}
	return n
}

// A transaction takes this many requests and bytes at most, but always one request.
const (
	batchRequests = 512
	batchBytes    = 8 << 20
)

// appender collects requests while a transaction is under way; they share the next one.
type appender struct {
	mu      sync.Mutex
	waiting []*request
	writing bool // a goroutine commits the waiting requests
	closed  bool
	wg      sync.WaitGroup
}

// do runs one request and waits for its result. A request that has been taken is waited
// for even when ctx ends, because its effect could not be known otherwise.
func (a *appender) do(ctx context.Context, s *Store, r *request) error {
	a.mu.Lock()
	if a.closed {
		a.mu.Unlock()
		return errClosed
	}
	a.waiting = append(a.waiting, r)
	if !a.writing {
		a.writing = true
		a.wg.Go(func() { a.write(s) })
	}
	a.mu.Unlock()
	select {
	case <-r.done:
	case <-ctx.Done():
		if a.withdraw(r) {
			return canceled(ctx.Err())
		}
		<-r.done
	}
	return r.err
}

// withdraw removes a request that has not been taken.
func (a *appender) withdraw(r *request) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	i := slices.Index(a.waiting, r)
	if i < 0 {
		return false
	}
	a.waiting = slices.Delete(a.waiting, i, i+1)
	return true
}

// write commits the waiting requests until none is left.
func (a *appender) write(s *Store) {
	for {
		requests := a.take()
		if requests == nil {
			return
		}
		s.commit(requests)
		for _, r := range requests {
			close(r.done)
		}
	}
}

// take returns the requests of the next transaction; nil if there are none, which ends
// the writing.
func (a *appender) take() (out []*request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	n, size := 0, 0
	for ; n < min(len(a.waiting), batchRequests); n++ {
		if size += a.waiting[n].size(); n > 0 && size > batchBytes {
			break
		}
	}
	if n == 0 {
		a.writing = false
		return nil
	}
	out = slices.Clone(a.waiting[:n])
	a.waiting = slices.Delete(a.waiting, 0, n)
	return out
}

// close refuses new requests, and waits for the earlier ones.
func (a *appender) close() {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	a.wg.Wait()
}
