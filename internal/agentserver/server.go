// Package agentserver is the Agent Server: OpenHands' REST and WebSocket
// contract over Deft's controllers (docs/openhands/sdk-wire.md,
// docs/openhands/sdk-wire-1.58.md, docs/openhands/clients.md). The rooms below
// it each serve one area; this package puts them behind one listener.
//
// # Usage
//
//	s, err := agentserver.New(agentserver.Options{Routes: routes, Keys: keys, …})
//	err = s.Serve(ctx, listener)
//
// # Concurrency and failure
//
// A Server serves any number of connections. Serve ends when its context does:
// it stops accepting, lets requests end for a moment, and closes the rest. A
// client that sends its request too slowly is cut off.
package agentserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/deft-dev/deft/internal/agentserver/rest"
)

// Times that clients have. A request's body may be a long upload, so only the
// head is bounded; handlers that read JSON bound what they read.
const (
	headTime = 10 * time.Second
	idleTime = 2 * time.Minute
	leave    = 3 * time.Second // for requests under way at the end
)

// Options say what a [Server] serves.
type Options struct {
	// Routes are those of the rooms.
	Routes []rest.Route
	// Handler serves in place of Routes, if it is not nil.
	Handler http.Handler
	// Keys, Ready, Origin and Host are as in [rest.Options].
	Keys   func() []string
	Ready  func() bool
	Origin func(string) bool
	Host   func(string) bool
	Log    *slog.Logger
}

// Server is the Agent Server.
type Server struct {
	http  http.Server
	seen  atomic.Int64 // Unix nanoseconds of the last request
	began time.Time
}

// New returns a server of the routes.
func New(o Options) (*Server, error) {
	s := &Server{began: time.Now()}
	s.seen.Store(s.began.UnixNano())
	h := o.Handler
	if h == nil {
		table, err := rest.New(rest.Options{
			Routes: o.Routes, Keys: o.Keys, Ready: o.Ready, Origin: o.Origin, Host: o.Host, Log: o.Log,
			Seen: func() { s.seen.Store(time.Now().UnixNano()) },
		})
		if err != nil {
			return nil, fmt.Errorf("set up the routes: %w", err)
		}
		h = table
	}
	s.http = http.Server{
		Handler: h, ReadHeaderTimeout: headTime, IdleTimeout: idleTime, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug),
	}
	return s, nil
}

// Uptime returns how long the server is there, and how long nobody has asked
// it for anything.
func (s *Server) Uptime() (up, idle time.Duration) {
	return time.Since(s.began), time.Since(time.Unix(0, s.seen.Load()))
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.http.Handler.ServeHTTP(w, r) }

// paced lets the clients that have come be served before more are let in:
// hundreds that come at once would stand in front of everybody who is there.
type paced struct{ net.Listener }

func (l paced) Accept() (net.Conn, error) {
	runtime.Gosched()
	return l.Listener.Accept()
}

// Serve serves until ctx ends.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	failed := make(chan error, 1)
	go func() { failed <- s.http.Serve(paced{l}) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), leave)
	defer cancel()
	err := s.http.Shutdown(end)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.http.Close()
	}
	if serr := <-failed; serr != nil && !errors.Is(serr, http.ErrServerClosed) {
		err = errors.Join(err, serr)
	}
	return err
}
