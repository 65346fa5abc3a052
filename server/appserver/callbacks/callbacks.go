// Package callbacks calls the event callbacks of conversations: it gives each event, in its
// order, to the processors (package callback) of its conversation, and stores what came of it.
//
// # Usage
//
//	s := callbacks.New(callbacks.Options{Stream: stream, Store: store, Lock: lock, Log: log})
//	stream = s.Stream()          // what is appended through it is processed
//	err := s.Add(ctx, c)         // before the conversation has an event
//	s.Resume()                   // what was not processed when the server last ended
//	s.Close()
//
// # Concurrency
//
// All methods may be called from any number of goroutines; appends wait for no processor. A
// conversation takes memory only while it has events that were not processed. Several servers
// may share a database: a callback is locked by the one that calls it, and taken over by
// another when that one ends (it implements [session.Others]).
//
// # Failure
//
// The events are read from the stream behind a cursor, which is stored together with the
// result of an event: each event has one result, ever, also after a crash. A processor whose
// service does not answer is called again after pauses of up to five minutes, ten times; no
// other callback waits for it.
package callbacks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/deft-dev/deft/callback"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/server/appserver/store"
	"github.com/deft-dev/deft/session"
)

// Options say what a Service works with. All but the last three are required.
type Options struct {
	// Stream has the events of all conversations.
	Stream eventstream.Stream
	Store  *store.Store
	// Lock makes one server at a time call a callback, by the callback's id.
	Lock session.Lock
	Log  *slog.Logger
	// Pause is how long to wait after a failure, which doubles each time up to five minutes
	// (1 s); Tries is how often an event is tried (10), and Timeout how long each time
	// (1 min).
	Pause   time.Duration
	Tries   int
	Timeout time.Duration
}

// Service calls event callbacks.
type Service struct {
	o       Options
	ctx     context.Context
	stop    context.CancelFunc
	working sync.WaitGroup
	busy    chan struct{} // has a token for each conversation that is worked on

	mu     sync.Mutex
	closed bool
	jobs   map[event.ConversationID]*job
	none   map[event.ConversationID]struct{} // conversations without an active callback
	atWork map[event.ConversationID]context.CancelFunc
	failed map[event.ConversationID]*attempts // by callback
}

// job is a conversation that has something to process.
type job struct {
	again bool
	news  chan struct{} // has a token when again was set
}

// attempts are failures of a callback in a row.
type attempts struct {
	n     int
	due   time.Time       // of the next one
	at    eventstream.Seq // the event that is tried
	tried int             // how often
}

// Bounds of what works, and of what is remembered.
const (
	atOnce       = 8
	mostNone     = 20_000
	maxPause     = 5 * time.Minute
	heldPause    = 250 * time.Millisecond // until a callback that another server has is looked at again
	maxDetail    = 4 << 10
	resumedPage  = 200
	sweptSkipped = 1000 // events that are none for a processor are noted after so many
)

var _ session.Others = (*Service)(nil)

// New returns a service.
func New(o Options) *Service {
	if o.Pause == 0 {
		o.Pause = time.Second
	}
	if o.Tries == 0 {
		o.Tries = 10
	}
	if o.Timeout == 0 {
		o.Timeout = time.Minute
	}
	s := &Service{
		o: o, busy: make(chan struct{}, atOnce), jobs: map[event.ConversationID]*job{}, none: map[event.ConversationID]struct{}{},
		atWork: map[event.ConversationID]context.CancelFunc{}, failed: map[event.ConversationID]*attempts{},
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s
}

// Close stops what works. The rest is processed after the next [Service.Resume].
func (s *Service) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.stop()
	s.working.Wait()
}

// Add stores callbacks of a conversation that this server is about to make. Those that are
// there already stay as they are.
func (s *Service) Add(ctx context.Context, all ...store.Callback) error {
	if err := s.o.Store.AddCallbacks(ctx, all...); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range all {
		delete(s.none, all[i].Conversation)
	}
	return nil
}

// Resume processes, in the background, what was not processed when servers ended.
func (s *Service) Resume() {
	s.start(func() {
		for after := event.ConversationID(""); ; {
			some, err := s.o.Store.ActiveCallbacks(s.ctx, after, resumedPage)
			if err != nil {
				s.complain("find the event callbacks that were interrupted", err)
				return
			}
			for _, c := range some {
				after = c.ID
				last, err := s.o.Stream.Last(s.ctx, c.Conversation)
				if err == nil && last > c.Seen {
					s.Wake(c.Conversation)
				} else if err != nil && !fault.Is(err, fault.NotFound) { // not made yet, or deleted
					s.complain("find the event callbacks that were interrupted", err)
				}
			}
			if len(some) < resumedPage {
				return
			}
		}
	})
}

// start runs f in the background, unless the service is closed.
func (s *Service) start(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.working.Go(f)
	}
}

func (s *Service) complain(what string, err error) {
	if s.ctx.Err() == nil {
		s.o.Log.Warn("event callbacks", "while", what, "err", err)
	}
}

// Wake processes the new events of a conversation in the background.
func (s *Service) Wake(id event.ConversationID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, none := s.none[id]; none || s.closed {
		return
	}
	if j := s.jobs[id]; j != nil {
		j.again = true
		select {
		case j.news <- struct{}{}:
		default:
		}
		return
	}
	j := &job{again: true, news: make(chan struct{}, 1)}
	s.jobs[id] = j
	s.working.Go(func() { s.work(id, j) })
}

// Orphaned implements [session.Others]: it goes on with a callback, or with those of a
// conversation, of a server that has ended.
func (s *Service) Orphaned(id event.ConversationID) bool {
	c, err := s.o.Store.Callback(s.ctx, id)
	if fault.Is(err, fault.NotFound) {
		s.mu.Lock()
		delete(s.none, id) // the other server may have added one
		s.mu.Unlock()
		s.Wake(id)
		return false
	}
	if err != nil {
		s.complain("continue an event callback of a server that has ended", err)
		return false
	}
	s.Wake(c.Conversation)
	return true
}

// Lost implements [session.Others]: it leaves a callback to the server that takes it over.
func (s *Service) Lost(id event.ConversationID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	cancel, ok := s.atWork[id]
	if ok {
		cancel()
	}
	return ok
}

// work processes the events of a conversation until there is no new one.
func (s *Service) work(id event.ConversationID, j *job) {
	for {
		s.mu.Lock()
		if !j.again || s.closed {
			delete(s.jobs, id)
			s.mu.Unlock()
			return
		}
		j.again = false
		s.mu.Unlock()
		select {
		case s.busy <- struct{}{}:
		case <-s.ctx.Done():
			continue
		}
		pause, err := s.process(id)
		<-s.busy
		if err != nil {
			s.complain("call the event callbacks of a conversation", fmt.Errorf("conversation %s: %w", id, err))
		}
		if pause == 0 {
			continue
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-j.news:
			timer.Stop()
		case <-s.ctx.Done():
			timer.Stop()
		}
		s.mu.Lock()
		j.again = true
		s.mu.Unlock()
	}
}

// process calls the callbacks of a conversation for its new events. If something is left to
// do, pause is when.
func (s *Service) process(id event.ConversationID) (pause time.Duration, err error) {
	all, err := s.o.Store.Callbacks(s.ctx, id)
	if err != nil {
		return s.o.Pause, err
	}
	later := func(d time.Duration) {
		if pause == 0 || d < pause {
			pause = d
		}
	}
	active := 0
	var errs []error
	for i := range all {
		if all[i].Status != store.CallbackActive {
			continue
		}
		active++
		if wait := s.wait(all[i].ID); wait > 0 {
			later(wait)
			continue
		}
		err := s.call(all[i].ID)
		switch {
		case err == nil, fault.Is(err, fault.NotFound): // the conversation was deleted
			s.succeeded(all[i].ID)
		case errors.Is(err, errHeld), errors.Is(err, store.ErrCallbackMoved):
			later(heldPause)
		case errors.Is(err, errUnknownKind):
			errs = append(errs, err)
		default:
			later(s.failedAgain(all[i].ID))
			errs = append(errs, err)
		}
	}
	if active == 0 {
		s.mu.Lock()
		if len(s.none) >= mostNone {
			clear(s.none)
		}
		s.none[id] = struct{}{}
		s.mu.Unlock()
	}
	return pause, errors.Join(errs...)
}

// wait is how long a callback that has failed is left alone.
func (s *Service) wait(id event.ConversationID) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.failed[id]; f != nil {
		return time.Until(f.due)
	}
	return 0
}

func (s *Service) succeeded(id event.ConversationID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.failed, id)
}

// failedAgain returns how long to wait after a failure of a callback.
func (s *Service) failedAgain(id event.ConversationID) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.failed[id]
	if f == nil {
		f = &attempts{}
		s.failed[id] = f
	}
	d := s.o.Pause
	for range f.n {
		d = min(2*d, maxPause)
	}
	f.n++
	f.due = time.Now().Add(d)
	return d
}

var (
	errHeld        = fault.New(fault.Conflict, "another server calls the event callback")
	errUnknownKind = fault.New(fault.Unsupported, "the kind of an event callback is not known to this server")
)

// call calls one callback for its new events.
func (s *Service) call(id event.ConversationID) error {
	release, err := s.o.Lock.Acquire(s.ctx, id)
	if fault.Is(err, fault.Conflict) {
		return errHeld
	}
	if err != nil {
		return err
	}
	defer release()
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	s.mu.Lock()
	s.atWork[id] = cancel
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.atWork, id)
		s.mu.Unlock()
	}()
	c, err := s.o.Store.Callback(ctx, id) // as of now: another server may have been here
	if err != nil || c.Status != store.CallbackActive {
		return err
	}
	p, kind, err := callback.New(c.Processor)
	if fault.Is(err, fault.Unsupported) { // of a program with more packages, which may come back
		return errors.Join(errUnknownKind, err)
	}
	if err != nil {
		return err
	}
	return s.calls(ctx, &c, p, kind)
}

// calls calls a processor for the events behind the cursor of its callback.
func (s *Service) calls(ctx context.Context, c *store.Callback, p callback.Processor, kind string) error {
	stored := c.Seen
	note := func(r *store.CallbackResult) error {
		c.Updated = time.Now().UTC()
		err := s.o.Store.SeenByCallback(ctx, *c, stored, r)
		if err == nil {
			stored = c.Seen
		}
		return err
	}
	for {
		var broken error
		for rec, err := range s.o.Stream.Read(ctx, c.Conversation, c.Seen+1) {
			if err != nil {
				broken = err
				break
			}
			if kind != "" && rec.Kind != kind {
				if c.Seen = rec.Seq; c.Seen-stored >= sweptSkipped {
					if err := note(nil); err != nil {
						return err
					}
				}
				continue
			}
			r, done, err := s.one(ctx, c, p, rec)
			if err != nil {
				return err
			}
			c.Seen = rec.Seq
			if done {
				c.Status = store.CallbackCompleted
			}
			if r != nil || done {
				if err := note(r); err != nil || done {
					return err
				}
			}
		}
		if !fault.Is(broken, fault.Corrupt) {
			if broken == nil && c.Seen > stored {
				return note(nil)
			}
			return broken
		}
		// An event that cannot be read can never be processed, but those after it can.
		last, err := s.o.Stream.Last(ctx, c.Conversation)
		if err != nil || c.Seen >= last {
			return errors.Join(broken, err)
		}
		s.o.Log.Error("an event cannot be read, and no event callback gets it", "conversation", c.Conversation, "seq", c.Seen+1, "err", broken)
		c.Seen++
	}
}

// one calls a processor for one event. An error means that the event is to be tried again.
func (s *Service) one(ctx context.Context, c *store.Callback, p callback.Processor, rec eventstream.Record) (r *store.CallbackResult, done bool, err error) {
	var out callback.Outcome
	ev, err := event.Unmarshal(rec.JSON)
	if err == nil {
		out, err = s.guarded(ctx, p, callback.Call{
			Callback: string(c.ID), Key: string(c.ID) + "/" + string(rec.ID), Conversation: c.Conversation, Event: ev, Log: s.o.Log,
		})
	}
	if err != nil && ctx.Err() != nil {
		return nil, false, context.Cause(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := fault.KindOf(err); err != nil && (k == fault.Unavailable || k == fault.Timeout || k == fault.RateLimit) {
		f := s.failed[c.ID]
		if f == nil || f.at != rec.Seq {
			f = &attempts{at: rec.Seq}
			s.failed[c.ID] = f
		}
		if f.tried++; f.tried < s.o.Tries {
			return nil, false, fmt.Errorf("event callback %s: %w", c.ID, err)
		}
	}
	if f := s.failed[c.ID]; f != nil && f.at == rec.Seq { // not one that is ahead
		delete(s.failed, c.ID)
	}
	if err == nil && out.Nothing {
		return nil, out.Done, nil
	}
	r = &store.CallbackResult{
		ID: event.NewConversationID().Hex(), Callback: c.ID, Conversation: c.Conversation, Event: rec.ID, OK: err == nil, Detail: out.Detail, Created: time.Now().UTC(),
	}
	if err != nil {
		r.Detail = err.Error()
	}
	if len(r.Detail) > maxDetail {
		r.Detail = r.Detail[:maxDetail]
	}
	r.Detail = strings.ToValidUTF8(strings.ReplaceAll(r.Detail, "\x00", ""), "")
	return r, err == nil && out.Done, nil
}

// guarded calls a processor, which may come from another module: it cannot end the server.
func (s *Service) guarded(ctx context.Context, p callback.Processor, c callback.Call) (out callback.Outcome, err error) {
	limited, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	defer func() {
		if r := recover(); r != nil {
			err = fault.New(fault.Internal, fmt.Sprintf("the processor panicked: %v", r))
			s.o.Log.Error("the processor of an event callback panicked", "callback", c.Callback, "panic", r)
		}
	}()
	out, err = p.Process(limited, c)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		err = fault.Wrap(err, fault.Timeout, "the processor took too long")
	}
	return out, err
}

// Stream returns the stream for the server's conversations: what is appended through it is
// processed.
func (s *Service) Stream() eventstream.Stream { return &stream{s.o.Stream, s} }

type stream struct {
	eventstream.Stream
	s *Service
}

// Append implements [eventstream.Stream].
func (w *stream) Append(ctx context.Context, id event.ConversationID, evs ...event.Event) (eventstream.Seq, error) {
	seq, err := w.Stream.Append(ctx, id, evs...)
	if err == nil {
		w.s.Wake(id)
	}
	return seq, err
}

// AppendRecords implements [eventstream.Stream].
func (w *stream) AppendRecords(ctx context.Context, id event.ConversationID, recs ...eventstream.Record) (eventstream.Seq, error) {
	seq, err := w.Stream.AppendRecords(ctx, id, recs...)
	if err == nil {
		w.s.Wake(id)
	}
	return seq, err
}
