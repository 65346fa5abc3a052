// Package socket serves the Agent Server's WebSockets: the events of a
// conversation, the resumable session, and the events of shell commands.
//
// # Usage
//
//	s := socket.New(socket.Options{Find: conversations.Find, Keys: keys})
//	defer s.Close()
//	routes := s.Routes() // for rest.New
//
// /sockets/events/{id} sends the full state, then the requested history, then new
// events; with `answers`, which is Deft's own, also the unfinished answer from its beginning on. /sockets/session/{id} sends the same in envelopes with a sequence number to
// resume from, and answers while they stream. /sockets/bash-events sends the events of
// shell commands. /sockets/terminal/{id} is a pseudo terminal in the conversation's
// sandbox, and /sockets/output/{id} sends the output of running actions as it comes;
// /sockets/view/{id} is the live view of its browser; only Deft has these three. See docs/openhands/sdk-wire.md section 9 and
// docs/openhands/sdk-wire-1.58.md section C.1.
//
// # Order
//
// A client gets each stored event once and in order, whenever it joins: it is a
// cursor on the stream. Records that are published without being stored (see
// [session.Transient]) follow the events that were stored before them.
//
// # Concurrency
//
// All methods may be called from any number of goroutines. A followed conversation
// has one reader of its stream, which keeps the newest records for all followers;
// a follower is a position and two goroutines, without a queue. One that lags
// further behind reads from the store.
//
// # Failure
//
// A client that reads nothing for Options.WriteTimeout is disconnected; it delays
// no other and takes at most 32 KB meanwhile, or 128 KB for each running action whose
// output it follows: of that a slow client misses the oldest, and is told so. Invalid frames are answered with an
// error on the socket, which stays open. Close codes are the
// reference's: 4001 for a wrong key, 4004 for an unknown conversation
// or one of another server, 1013 for too many followers or for one that has to
// resume, 1001 when the server stops.
package socket

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"runtime"
	"sync"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/server/agentserver/bash"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/tool"
)

// Conversation is a socket's view of a conversation.
type Conversation interface {
	// ID names the conversation.
	ID() event.ConversationID
	// FullState returns the ConversationStateUpdateEvent with the key
	// full_state as JSON, made during the call and with secrets masked.
	FullState(ctx context.Context) (json.RawMessage, error)
	// Stream holds its events.
	Stream() eventstream.Stream
	// Watch calls f for everything that is published without being stored, in
	// order, until cancel returns. f does not block and must not be called
	// afterwards.
	Watch(f func(session.Transient)) (cancel func())
	// OpenQueue returns the event that shows the messages that wait until the agent has ended,
	// and goes on with sending them.
	OpenQueue() (json.RawMessage, error)
	// Unfinished returns the answer that the model is writing. Pieces that are published
	// later have greater numbers.
	Unfinished() *session.Unfinished
	// WatchOutput calls f for the output of running actions, beginning with the end of
	// their output so far, until cancel returns. f does not block.
	WatchOutput(f func(session.Output)) (cancel func())
	// Send adds a message, and runs the agent if it says so.
	Send(ctx context.Context, m session.Message) error
	// Terminals returns the pseudo terminals of its sandbox.
	Terminals(ctx context.Context) (tool.PTYs, error)
	// View connects to the live view of its browser, as [tool.Viewer].
	View(ctx context.Context) (io.ReadWriteCloser, error)
}

// Options configure the sockets. Durations and sizes of 0 take their defaults.
type Options struct {
	// Find returns a conversation, with the kind NotFound if there is none. It
	// must stay loaded while [Service.Followers] is not 0.
	Find func(ctx context.Context, id event.ConversationID) (Conversation, error)
	// Bash serves /sockets/bash-events; nil for no such route.
	Bash *bash.Service
	// Keys returns the keys that clients must send; without any the server is
	// open.
	Keys func() []string
	// Origin reports whether pages of an origin may connect, beside pages of this
	// machine; nil for none. It is used without keys only: pages do not have the key.
	Origin func(origin string) bool
	// MaxFollowers bounds the followers of one conversation (10,000; the
	// reference has 50).
	MaxFollowers int
	// WriteTimeout is how long a client may read nothing (20 s).
	WriteTimeout time.Duration
	// AuthTimeout is how long a client may take to send its key (10 s).
	AuthTimeout time.Duration
	// PingEvery is the time between pings, which keep proxies from closing idle
	// sockets (25 s).
	PingEvery time.Duration
	// MaxFrame bounds a frame of the session socket in bytes (4 MiB,
	// docs/openhands/sdk-wire-1.58.md section C.1).
	MaxFrame int
	Log      *slog.Logger
}

// MaxMessage bounds a frame of a client in bytes.
const MaxMessage = 32 << 20

// Service serves the sockets.
type Service struct {
	o       Options
	ctx     context.Context // ends with Close
	cancel  context.CancelFunc
	wg      sync.WaitGroup
	readers chan struct{} // one element for each follower that reads the store

	mu     sync.Mutex
	closed bool
	links  map[*link]struct{}
	feeds  map[event.ConversationID]*feed
}

// New returns a service. Close it.
func New(o Options) *Service {
	or(&o.MaxFollowers, 10_000)
	or(&o.WriteTimeout, 20*time.Second)
	or(&o.AuthTimeout, 10*time.Second)
	or(&o.PingEvery, 25*time.Second)
	or(&o.MaxFrame, 4<<20)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	s := &Service{o: o, links: map[*link]struct{}{}, feeds: map[event.ConversationID]*feed{}}
	s.readers = make(chan struct{}, max(2, runtime.GOMAXPROCS(0)))
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.wg.Go(s.ping)
	return s
}

func or[T comparable](v *T, def T) {
	var zero T
	if *v == zero {
		*v = def
	}
}

// Routes returns the operations of the service.
func (s *Service) Routes() []rest.Route {
	route := func(path string, h rest.Handler) rest.Route {
		return rest.Route{
			Method: http.MethodGet, Path: "/sockets/" + path, Tag: "WebSockets",
			Scope: rest.Checked, Carrier: rest.Socket, Limit: rest.NoBody, Hidden: true, Handle: h,
		}
	}
	routes := []rest.Route{
		route("events/{conversation_id}", s.events),
		route("session/{conversation_id}", s.session),
		route("terminal/{conversation_id}", s.terminal),
		route("output/{conversation_id}", s.output),
		route("view/{conversation_id}", s.view),
	}
	if s.o.Bash != nil {
		routes = append(routes, route("bash-events", s.shell))
	}
	return append(routes, s.terminalRoutes()...)
}

// Followers returns how many sockets follow a conversation.
func (s *Service) Followers(id event.ConversationID) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.feeds[id]; f != nil {
		return f.refs
	}
	return 0
}

// Close sends all clients a close frame and waits until their sockets are closed,
// at most two seconds for clients that do not answer.
func (s *Service) Close() {
	s.mu.Lock()
	s.closed = true
	links := make([]*link, 0, len(s.links))
	for l := range s.links {
		links = append(links, l)
	}
	s.mu.Unlock()
	var leaving sync.WaitGroup
	for _, l := range links {
		leaving.Go(l.goAway)
	}
	leaving.Wait()
	s.cancel()
	s.wg.Wait()
}

// start serves an accepted connection in a new goroutine, so that the HTTP request
// does not stay in memory.
func (s *Service) start(l *link, p plan) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		l.abort()
		return
	}
	s.links[l] = struct{}{}
	s.wg.Add(1)
	s.mu.Unlock()
	go func() {
		defer s.wg.Done()
		defer func() {
			l.abort()
			s.mu.Lock()
			delete(s.links, l)
			s.mu.Unlock()
		}()
		s.serve(l, p)
	}()
}

// ping keeps idle sockets open.
func (s *Service) ping() {
	tick := time.NewTicker(s.o.PingEvery)
	defer tick.Stop()
	var links []*link
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-tick.C:
		}
		links = links[:0]
		s.mu.Lock()
		for l := range s.links {
			links = append(links, l)
		}
		s.mu.Unlock()
		for _, l := range links {
			s.wg.Go(l.ping) // one that reads nothing must not delay the others
		}
		clear(links)
	}
}
