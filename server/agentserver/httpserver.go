package agentserver

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/deft-dev/deft/internal/peer"
	"github.com/deft-dev/deft/server/rest"
)

// Time limits of clients. The body of a request may be a long upload, so only the
// head is bounded; handlers that read JSON bound their bodies.
const (
	headTime = 10 * time.Second
	idleTime = 2 * time.Minute
	stopTime = 3 * time.Second // for requests under way at the end
)

// httpServer serves HTTP until its context ends.
type httpServer struct {
	http  http.Server
	seen  atomic.Int64 // Unix nanoseconds of the last request
	began time.Time
}

// newRouteServer returns a server of routes.
func newRouteServer(o rest.Options) (*httpServer, error) {
	s := newHTTPServer(nil, o.Log)
	o.Seen = func() { s.seen.Store(time.Now().UnixNano()) }
	table, err := rest.New(o)
	if err != nil {
		return nil, fmt.Errorf("set up the routes: %w", err)
	}
	s.http.Handler = table
	return s, nil
}

func newHTTPServer(h http.Handler, log *slog.Logger) *httpServer {
	s := &httpServer{began: time.Now()}
	s.seen.Store(s.began.UnixNano())
	s.http = http.Server{
		Handler: h, ConnContext: peer.Context, ReadHeaderTimeout: headTime, IdleTimeout: idleTime, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	return s
}

// Uptime returns how long the server has been up, and how long ago its last
// request was.
func (s *httpServer) Uptime() (up, idle time.Duration) {
	return time.Since(s.began), time.Since(time.Unix(0, s.seen.Load()))
}

// ServeHTTP implements [http.Handler].
func (s *httpServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.http.Handler.ServeHTTP(w, r)
}

// pacedListener lets requests that were accepted proceed before it accepts the
// next connection: hundreds that arrive at once would delay all others.
type pacedListener struct{ net.Listener }

func (l pacedListener) Accept() (net.Conn, error) {
	runtime.Gosched()
	return l.Listener.Accept()
}

// Serve serves until ctx ends.
func (s *httpServer) Serve(ctx context.Context, l net.Listener) error {
	return rest.Serve(ctx, &s.http, pacedListener{l}, stopTime, nil)
}
