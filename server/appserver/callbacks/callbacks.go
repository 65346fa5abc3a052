// Package callbacks calls the event callbacks of conversations: it gives each event, in its
// order, to the processors (package callback) of its conversation, and stores the result.
//
// # Usage
//
//	s := callbacks.New(callbacks.Options{Stream: stream, Store: store, Jobs: jobs, Log: log, …})
//	stream = s.Stream()          // what is appended through it is processed
//	err := s.Add(ctx, c)         // before the conversation has an event
//	s.Resume(ctx)                // what was not processed when the server last ended
//
// # Concurrency
//
// All methods may be called from any number of goroutines; appends wait for no processor. A
// callback is a job (package job), which is parked while its conversation has no new event.
// Several servers may share a database: one of them calls a callback at a time, and another
// continues when it ends.
//
// # Failure
//
// The events are read from the stream behind a cursor, which is stored together with the
// result of an event: each event has one result, ever, also after a crash. A processor whose
// service does not answer is called again after pauses of up to five minutes, ten times; no
// other callback waits for it.
package callbacks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/deft-dev/deft/callback"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/job"
	"github.com/deft-dev/deft/server/appserver/store"
)

// Options configure a Service. All but the last three are required.
type Options struct {
	// Stream has the events of all conversations.
	Stream eventstream.Stream
	Store  *store.Store
	Jobs   *job.Engine
	// Services returns the server's services for processors, in an owner's name.
	Services func(owner identity.Tenant, conversation event.ConversationID) callback.Services
	Log      *slog.Logger
	// Pause is how long to wait after a failure, which doubles each time up to five minutes
	// (1 s); Tries is how often an event is tried (10), and Timeout how long each time
	// (1 min).
	Pause   time.Duration
	Tries   int
	Timeout time.Duration
}

// Service calls event callbacks.
type Service struct{ o Options }

// Bounds of the work.
const (
	atOnce       = 8
	maxDetail    = 4 << 10
	resumedPage  = 200
	sweptSkipped = 1000 // events that are none for a processor are noted after so many
)

// New returns a service, whose kind of jobs it registers.
func New(o Options) *Service {
	o.Tries = cmp.Or(o.Tries, 10)
	o.Timeout = cmp.Or(o.Timeout, time.Minute)
	s := &Service{o}
	o.Jobs.Register(job.Kind{Name: store.CallbackKind, Attempts: -1, Pause: o.Pause, AtOnce: atOnce, Handler: s})
	return s
}

// Add stores callbacks of a conversation that this server is about to make. Those that are
// there already stay as they are.
func (s *Service) Add(ctx context.Context, all ...store.Callback) error {
	if len(all) == 0 {
		return nil
	}
	jobs := make([]job.Request, len(all))
	for i, c := range all {
		jobs[i] = job.Request{
			ID: string(c.ID), Kind: store.CallbackKind, Owner: identity.Tenant(c.Owner), Subject: c.Conversation,
			Args: c.Processor, Progress: store.CallbackProgress{Kind: c.Kind}, Created: c.Created,
		}
	}
	return s.o.Jobs.AddParked(ctx, jobs...)
}

// Resume processes, in the background, events that were not processed when servers
// ended.
func (s *Service) Resume(ctx context.Context) {
	for after := event.ConversationID(""); ; {
		some, err := s.o.Store.ActiveCallbacks(ctx, after, resumedPage)
		if err != nil {
			s.complain(ctx, err)
			return
		}
		for _, c := range some {
			after = c.ID
			last, err := s.o.Stream.Last(ctx, c.Conversation)
			if err == nil && last > c.Seen {
				s.Wake(c.Conversation)
			} else if err != nil && !fault.Is(err, fault.NotFound) { // not made yet, or deleted
				s.complain(ctx, err)
			}
		}
		if len(some) < resumedPage {
			return
		}
	}
}

func (s *Service) complain(ctx context.Context, err error) {
	if ctx.Err() == nil {
		s.o.Log.Warn("find the event callbacks that were interrupted", "err", err)
	}
}

// Wake processes the new events of a conversation in the background.
func (s *Service) Wake(id event.ConversationID) { s.o.Jobs.Wake(store.CallbackKind, id) }

// Orphaned processes the events of a conversation whose server has ended.
func (s *Service) Orphaned(id event.ConversationID) {
	s.o.Jobs.Expect(store.CallbackKind, id)
	s.Wake(id)
}

// calling is a run of the job of a callback.
type calling struct {
	*job.Run
	s        *Service
	p        callback.Processor
	services callback.Services
	progress store.CallbackProgress
	stored   eventstream.Seq // the cursor as it is stored
}

// Run implements [job.Handler]: it processes the new events of a callback.
func (s *Service) Run(ctx context.Context, run *job.Run) error {
	c := &calling{Run: run, s: s, services: s.o.Services(run.Owner, run.Subject)}
	if err := json.Unmarshal(run.Progress, &c.progress); err != nil {
		return fault.Wrap(err, fault.Corrupt, "read an event callback")
	}
	c.stored = c.progress.Seen
	var kind string
	var err error
	c.p, kind, err = callback.New(run.Args)
	if err == nil {
		err = c.events(ctx, kind)
	}
	switch {
	case run.State.Ended(), errors.Is(err, job.ErrLost):
		return err
	case err == nil, fault.Is(err, fault.NotFound): // the conversation was deleted
		return job.ErrPark
	case fault.Is(err, fault.Unsupported): // of a program with more packages, which may come back
		s.o.Log.Warn("an event callback is not called", "conversation", run.Subject, "callback", run.ID, "err", err)
		return job.ErrPark
	}
	return job.Again(err)
}

// note stores how far the callback is, with the result of the last event; nil for none.
func (c *calling) note(ctx context.Context, r *store.CallbackResult) error {
	if err := c.SetProgress(c.progress); err != nil {
		return err
	}
	err := c.Save(ctx, func(ctx context.Context, j job.Job) error {
		return c.s.o.Store.SaveCallback(ctx, j, c.progress.Seen, r)
	})
	if err == nil {
		c.stored = c.progress.Seen
	}
	return err
}

// passed moves the cursor to an event.
func (c *calling) passed(seq eventstream.Seq) {
	c.progress.Seen, c.progress.Tried, c.Attempt = seq, 0, 0
}

// events calls the processor for the events behind the cursor.
func (c *calling) events(ctx context.Context, kind string) error {
	for {
		var broken error
		for rec, err := range c.s.o.Stream.Read(ctx, c.Subject, c.progress.Seen+1) {
			if err != nil {
				broken = err
				break
			}
			if kind != "" && rec.Kind != kind {
				if c.passed(rec.Seq); rec.Seq-c.stored >= sweptSkipped {
					if err := c.note(ctx, nil); err != nil {
						return err
					}
				}
				continue
			}
			r, done, err := c.one(ctx, rec)
			if err != nil {
				return errors.Join(err, c.SetProgress(c.progress))
			}
			c.passed(rec.Seq)
			if done {
				c.State = job.Done
			}
			if r != nil || done {
				if err := c.note(ctx, r); err != nil {
					c.State = job.Ready
					return err
				}
			}
			if done {
				return nil
			}
		}
		if !fault.Is(broken, fault.Corrupt) {
			if broken == nil && c.progress.Seen > c.stored {
				return c.note(ctx, nil)
			}
			return broken
		}
		// An event that cannot be read can never be processed, but those after it can.
		last, err := c.s.o.Stream.Last(ctx, c.Subject)
		if err != nil || c.progress.Seen >= last {
			return errors.Join(broken, err)
		}
		c.s.o.Log.Error("an event cannot be read, and no event callback gets it", "conversation", c.Subject, "seq", c.progress.Seen+1, "err", broken)
		c.passed(c.progress.Seen + 1)
	}
}

// one calls the processor for one event. An error means that the event is to be tried again.
func (c *calling) one(ctx context.Context, rec eventstream.Record) (r *store.CallbackResult, done bool, err error) {
	var out callback.Outcome
	ev, err := event.Unmarshal(rec.JSON)
	if err == nil {
		out, err = c.guarded(ctx, callback.Call{
			Callback: c.ID, Key: c.ID + "/" + string(rec.ID), Conversation: c.Subject, Event: ev, Services: c.services, Log: c.s.o.Log,
		})
	}
	if err != nil && ctx.Err() != nil {
		return nil, false, context.Cause(ctx)
	}
	if k := fault.KindOf(err); err != nil && (k == fault.Unavailable || k == fault.Timeout || k == fault.RateLimit) {
		if c.progress.Tried++; c.progress.Tried < c.s.o.Tries {
			return nil, false, fmt.Errorf("event callback %s: %w", c.ID, err)
		}
	}
	if err == nil && out.Nothing {
		return nil, out.Done, nil
	}
	r = &store.CallbackResult{
		ID: event.NewConversationID().Hex(), Callback: event.ConversationID(c.ID), Conversation: c.Subject, Event: rec.ID, OK: err == nil, Detail: out.Detail, Created: time.Now().UTC(),
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
func (c *calling) guarded(ctx context.Context, call callback.Call) (out callback.Outcome, err error) {
	limited, cancel := context.WithTimeout(ctx, c.s.o.Timeout)
	defer cancel()
	defer func() {
		if r := recover(); r != nil {
			err = fault.New(fault.Internal, fmt.Sprintf("the processor panicked: %v", r))
			c.s.o.Log.Error("the processor of an event callback panicked", "callback", call.Callback, "panic", r)
		}
	}()
	out, err = c.p.Process(limited, call)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		err = fault.Wrap(err, fault.Timeout, "the processor took too long")
	}
	return out, err
}

// Stream returns the stream for the server's conversations: appended events are processed.
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
