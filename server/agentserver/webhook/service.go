// Package webhook posts conversations to configured endpoints: their events in
// batches, and their states.
//
// # Usage
//
//	cursors, err := webhook.OpenFile(filepath.Join(conversations, "webhooks.log"))
//	s, err := webhook.New(webhook.Options{Endpoints: cfg.Webhooks, Stream: store, Cursors: cursors, Key: firstKey})
//	stream := s.Stream()     // appends through it are delivered
//	s.Tell(id, info)         // on start, pause, interrupt, update and delete
//	s.Show(id, fullState)    // behind the events
//	s.Flush(ctx, id)         // before a conversation is deleted
//	s.Close(ctx)             // delivers what it can until ctx ends
//
// Requests have the form of docs/openhands/sdk-wire.md section 11. Unlike the
// reference, events are never dropped: they are read from the event stream behind
// a cursor, which is stored once an endpoint has accepted them. So each event is
// delivered at least once and in order, also after a crash; a repeated one has the
// same id. Full states are not stored: an endpoint that lags behind gets the
// newest.
//
// A new endpoint gets events from then on, not the past.
//
// # Concurrency
//
// All methods may be called from any number of goroutines; Tell and appends do
// not wait for any endpoint. Each endpoint has one goroutine and at most
// Options.Posts more while posts to it are under way. A conversation takes memory
// only while it has undelivered events.
//
// # Failure
//
// A post that fails is repeated after retry_delay, and after num_retries attempts
// with growing pauses of up to five minutes; no other conversation and no other
// endpoint waits for it. The descriptions given to Tell are dropped after
// num_retries more attempts, as in the reference: the next one replaces them.
package webhook

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/server/agentserver/config"
)

// Options configure a service.
type Options struct {
	Endpoints []config.Webhook // checked
	// Stream holds all conversations of the server.
	Stream eventstream.Stream
	// Cursors remembers deliveries. The service closes it.
	Cursors Cursors
	// Describe returns the ConversationInfo of a conversation; may be nil. It is
	// posted before the events that were not delivered when the service last ended,
	// because the arguments of Tell are lost, and an endpoint may not have seen the
	// conversation. Errors other than NotFound are temporary. It may be called while
	// New runs.
	Describe func(ctx context.Context, id event.ConversationID) (json.RawMessage, error)
	// Key returns the value of X-Session-API-Key, "" for none.
	Key func() string
	// Client posts; nil for one with the reference's time limit of 30 s. It
	// must not follow redirections, which would send the key elsewhere.
	Client *http.Client
	// Posts bounds the posts to one endpoint at one time (8).
	Posts int
	Log   *slog.Logger
}

// Service posts to the endpoints. Make one with [New].
type Service struct {
	o      Options
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	wg     sync.WaitGroup
	ends   []*endpoint
}

// New starts delivering, beginning with the events that were not delivered when
// the service last ended. Close it.
func New(o Options) (*Service, error) {
	o.Posts = cmp.Or(o.Posts, 8)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Key == nil {
		o.Key = func() string { return "" }
	}
	if o.Client == nil {
		o.Client = &http.Client{
			Timeout: 30 * time.Second,
			Transport: &http.Transport{
				Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: o.Posts, IdleConnTimeout: 90 * time.Second,
				ForceAttemptHTTP2: true,
			},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	s := &Service{o: o}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	same := map[string]int{}
	for _, w := range o.Endpoints {
		e := newEndpoint(s, w)
		if n := same[e.name]; n > 0 { // the same address with other headers
			e.name += "-" + strconv.Itoa(n)
		}
		same[name(w)]++
		if err := s.baseline(e); err != nil {
			s.cancel()
			return nil, err
		}
		s.ends = append(s.ends, e)
	}
	if err := s.resume(); err != nil {
		s.cancel()
		return nil, err
	}
	for _, e := range s.ends {
		s.wg.Go(e.run)
	}
	return s, nil
}

func url(w config.Webhook, path string) string { return strings.TrimRight(w.BaseURL, "/") + path }

// name is the name of an endpoint among the cursors.
func name(w config.Webhook) string {
	sum := sha256.Sum256([]byte(url(w, "")))
	return hex.EncodeToString(sum[:8])
}

// each calls f for all conversations.
func (s *Service) each(ctx context.Context, f func(eventstream.Info)) error {
	q := eventstream.ListQuery{Limit: 500, Ascending: true}
	for {
		page, err := s.o.Stream.List(ctx, q)
		if err != nil {
			return fmt.Errorf("list conversations for webhooks: %w", err)
		}
		for _, info := range page.Infos {
			f(info)
		}
		if page.NextID == "" {
			return nil
		}
		q.PageID = page.NextID
	}
}

// baseline sets the cursors of a new endpoint behind all present events.
func (s *Service) baseline(e *endpoint) error {
	if s.o.Cursors.Known(e.name) {
		return nil
	}
	at := map[event.ConversationID]eventstream.Seq{}
	if err := s.each(s.ctx, func(i eventstream.Info) { at[i.ID] = i.Events }); err != nil {
		return err
	}
	return s.o.Cursors.Begin(e.name, at)
}

// resume finds the events that were not delivered when the service last ended. It
// runs before anything is appended through the service, whose events it would
// count as well.
func (s *Service) resume() error {
	if len(s.ends) == 0 {
		return nil
	}
	return s.each(s.ctx, func(i eventstream.Info) {
		for _, e := range s.ends {
			if n := i.Events - s.o.Cursors.Get(e.name, i.ID); n > 0 {
				e.resume(i.ID, int(n))
			}
		}
	})
}

// Tell posts a conversation's ConversationInfo to all endpoints, before its
// undelivered events.
func (s *Service) Tell(id event.ConversationID, info json.RawMessage) {
	for _, e := range s.ends {
		e.tell(id, info)
	}
}

// Show posts a state update that is not stored to all endpoints, after the events
// so far. It replaces an undelivered one.
func (s *Service) Show(id event.ConversationID, state json.RawMessage) {
	for _, e := range s.ends {
		e.show(id, state)
	}
}

// Added reports that a conversation has n new events. [Service.Stream] calls it.
func (s *Service) Added(id event.ConversationID, n int) {
	for _, e := range s.ends {
		e.wake(id, n)
	}
}

// Flush delivers a conversation at once and returns when all endpoints have it, or
// with the error of ctx. Failed posts are repeated meanwhile.
func (s *Service) Flush(ctx context.Context, id event.ConversationID) error {
	for _, e := range s.ends {
		select {
		case <-e.flush(id):
		case <-ctx.Done():
			return fault.Wrap(ctx.Err(), fault.Canceled, "flush webhooks")
		}
	}
	return nil
}

// Close delivers incomplete batches until ctx ends. The rest is delivered by the
// next service on the same cursors.
func (s *Service) Close(ctx context.Context) error {
	for _, e := range s.ends {
		select {
		case <-e.drain():
		case <-ctx.Done():
		}
	}
	s.cancel()
	s.wg.Wait()
	s.o.Client.CloseIdleConnections()
	return s.o.Cursors.Close()
}

// Stream returns the stream for the server's conversations: events appended
// through it are delivered.
func (s *Service) Stream() eventstream.Stream { return &stream{s.o.Stream, s} }

type stream struct {
	eventstream.Stream
	s *Service
}

// Append implements [eventstream.Stream].
func (w *stream) Append(ctx context.Context, id event.ConversationID, evs ...event.Event) (eventstream.Seq, error) {
	seq, err := w.Stream.Append(ctx, id, evs...)
	if err == nil {
		w.s.Added(id, len(evs))
	}
	return seq, err
}

// AppendRecords implements [eventstream.Stream].
func (w *stream) AppendRecords(ctx context.Context, id event.ConversationID, recs ...eventstream.Record) (eventstream.Seq, error) {
	seq, err := w.Stream.AppendRecords(ctx, id, recs...)
	if err == nil {
		w.s.Added(id, len(recs))
	}
	return seq, err
}

// Fork implements [eventstream.Stream]. The events that a fork shares were
// delivered already.
func (w *stream) Fork(ctx context.Context, dst, src event.ConversationID, segments []eventstream.Segment, meta eventstream.Meta) error {
	if err := w.Stream.Fork(ctx, dst, src, segments, meta); err != nil {
		return err
	}
	var n eventstream.Seq
	for _, sg := range segments {
		n += sg.Last - sg.First + 1
	}
	for _, e := range w.s.ends {
		if err := w.s.o.Cursors.Set(e.name, dst, n); err != nil {
			return err
		}
	}
	return nil
}

// Delete implements [eventstream.Stream].
func (w *stream) Delete(ctx context.Context, id event.ConversationID) error {
	if err := w.Stream.Delete(ctx, id); err != nil {
		return err
	}
	return w.s.o.Cursors.Forget(id)
}
