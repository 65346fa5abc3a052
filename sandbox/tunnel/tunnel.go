// Package tunnel carries connections to an Action Execution Server over HTTP, as HTTP/1.1
// upgrades (RFC 9110 section 7.8): through the proxy of a Runtime API, with TLS and a
// key, where there is no socket on this machine.
//
// # Usage
//
// Inside, where the server is:
//
//	l := tunnel.Listen(listener, key) // give it to actionserver.Options
//
// Outside:
//
//	d := tunnel.Dialer{URL: url, Key: key}
//	conn, err := d.Dial(ctx) // give d.Dial to remote.Options
//
// [Dialer.Watch] is a connection that carries nothing: it ends with the server.
//
// # Concurrency and failure
//
// All is safe for concurrent use. A wrong key is fault.Denied, a server that does not
// answer (yet) fault.Unavailable, a runtime that there is not fault.NotFound.
package tunnel

import (
	"bufio"
	"crypto/subtle"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// Routes and the name of the protocol that connections change to.
const (
	linkPath  = "/v1/link"
	watchPath = "/v1/watch"
	alivePath = "/alive"
	protocol  = "deft-action-server"
	// keyHeader is the header of OpenHands' servers.
	keyHeader = "X-Session-API-Key"
)

// listener hands out the connections that were upgraded.
type listener struct {
	inner  net.Listener
	key    string
	web    *http.Server
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
	failed error // of the inner listener; read after closed

	mu      sync.Mutex
	watched map[net.Conn]bool
}

// Listen returns a listener for the connections that clients with the key make through
// HTTP at l. It closes l.
func Listen(l net.Listener, key string) net.Listener {
	t := &listener{inner: l, key: key, conns: make(chan net.Conn), closed: make(chan struct{}), watched: map[net.Conn]bool{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+alivePath, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"status":"ok"}`) // the client has gone
	})
	mux.HandleFunc("GET "+linkPath, func(w http.ResponseWriter, r *http.Request) { t.upgrade(w, r, t.hand) })
	mux.HandleFunc("GET "+watchPath, func(w http.ResponseWriter, r *http.Request) { t.upgrade(w, r, t.hold) })
	t.web = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10}
	go func() {
		err := t.web.Serve(l)
		t.end(err)
	}()
	return t
}

// upgrade gives the connection of a client with the key to use.
func (t *listener) upgrade(w http.ResponseWriter, r *http.Request, use func(net.Conn)) {
	switch {
	case subtle.ConstantTimeCompare([]byte(r.Header.Get(keyHeader)), []byte(t.key)) != 1:
		http.Error(w, `{"detail":"the session key is missing or wrong"}`, http.StatusUnauthorized)
		return
	case r.Header.Get("Upgrade") != protocol:
		w.Header().Set("Upgrade", protocol)
		http.Error(w, `{"detail":"this server speaks `+protocol+`"}`, http.StatusUpgradeRequired)
		return
	}
	conn, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, `{"detail":"the connection cannot be upgraded"}`, http.StatusHTTPVersionNotSupported)
		return
	}
	_ = conn.SetDeadline(time.Time{}) // of the HTTP server
	_, err = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "+protocol+"\r\n\r\n")
	if err != nil {
		_ = conn.Close() // the client has gone
		return
	}
	if rw.Reader.Buffered() > 0 {
		conn = &buffered{Conn: conn, r: rw.Reader}
	}
	use(conn)
}

// hand gives a connection to Accept.
func (t *listener) hand(conn net.Conn) {
	select {
	case t.conns <- conn:
	case <-t.closed:
		_ = conn.Close() // nobody will answer
	}
}

// hold keeps a connection until the client or the server ends.
func (t *listener) hold(conn net.Conn) {
	t.mu.Lock()
	select {
	case <-t.closed:
		t.mu.Unlock()
		_ = conn.Close()
		return
	default:
	}
	t.watched[conn] = true
	t.mu.Unlock()
	_, _ = io.Copy(io.Discard, conn) // its end is all that matters
	t.mu.Lock()
	delete(t.watched, conn)
	t.mu.Unlock()
	_ = conn.Close()
}

// Accept implements [net.Listener].
func (t *listener) Accept() (net.Conn, error) {
	select {
	case c := <-t.conns:
		return c, nil
	case <-t.closed:
		if t.failed != nil {
			return nil, t.failed
		}
		return nil, net.ErrClosed
	}
}

// end closes everything open.
func (t *listener) end(err error) {
	t.once.Do(func() {
		if !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
			t.failed = err
		}
		close(t.closed)
	})
	t.mu.Lock()
	defer t.mu.Unlock()
	for c := range t.watched {
		_ = c.Close() // its reader ends
	}
}

// Close implements [net.Listener].
func (t *listener) Close() error {
	t.end(nil)
	return t.web.Close()
}

// Addr implements [net.Listener].
func (t *listener) Addr() net.Addr { return t.inner.Addr() }

// buffered is a connection of which something was read already.
type buffered struct {
	net.Conn
	r *bufio.Reader
}

func (b *buffered) Read(p []byte) (int, error) { return b.r.Read(p) }
