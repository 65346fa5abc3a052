package mcplogin

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/deft-dev/deft/fault"
)

// callbackPath is where a redirect goes on this machine.
const callbackPath = "/callback"

// Loopback takes a redirect on a free port of this machine's loopback interface (RFC 8252
// section 7.3).
type Loopback struct {
	listener net.Listener
	server   *http.Server
	served   chan error
	answers  chan url.Values

	nonce chan string // holds one; the state of the login
}

// Listen returns a Loopback. The caller closes it.
func Listen(ctx context.Context) (*Loopback, error) {
	l := &Loopback{served: make(chan error, 1), answers: make(chan url.Values, 1), nonce: make(chan string, 1)}
	var err error
	if l.listener, err = new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0"); err != nil {
		return nil, fault.Wrap(err, fault.Unavailable, "listen for the redirect")
	}
	l.server = &http.Server{Handler: http.HandlerFunc(l.answer), ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10}
	go func() { l.served <- l.server.Serve(l.listener) }()
	return l, nil
}

// URL is the address for the redirect.
func (l *Loopback) URL() string { return "http://" + l.listener.Addr().String() + callbackPath }

// Wait returns the query of the redirect of the login at an address.
func (l *Loopback) Wait(ctx context.Context, address string) (url.Values, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, fault.New(fault.Invalid, "the address of the login cannot be read")
	}
	l.nonce <- u.Query().Get("state")
	select {
	case query := <-l.answers:
		return query, nil
	case <-ctx.Done():
		return nil, fault.New(fault.Timeout, "nobody has logged in")
	}
}

// answer takes the redirect. Requests of others lack the state.
func (l *Loopback) answer(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	query := r.URL.Query()
	if r.Method != http.MethodGet || r.URL.Path != callbackPath || !l.expects(query.Get("state")) {
		http.Error(w, "There is no such login.", http.StatusNotFound)
		return
	}
	select {
	case l.answers <- query:
	default: // it has come already
	}
	text := "You are logged in. You can close this window and go back to Deft.\n"
	if query.Get("error") != "" {
		text = "The login was refused. You can close this window and go back to Deft.\n"
	}
	_, _ = w.Write([]byte(text)) // the browser may have gone
}

func (l *Loopback) expects(nonce string) bool {
	select {
	case known := <-l.nonce:
		l.nonce <- known
		return nonce != "" && nonce == known
	default:
		return false
	}
}

// Close stops listening, after the answer that is being sent.
func (l *Loopback) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	err := l.server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = l.server.Close()
	}
	if served := <-l.served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}
