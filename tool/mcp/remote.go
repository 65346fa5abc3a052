package mcp

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/outbound"
)

// streamWait is how long a server may take to open the stream for its own
// messages. Behind some gateways it never opens, and connecting would hang.
// Without the stream only a change of the list of tools goes unnoticed.
const streamWait = 3 * time.Second

// connectTime bounds a connection, as in net/http.
const connectTime = 30 * time.Second

// remote returns the transport to a server over HTTP.
func remote(ctx context.Context, sv *server, u *users) (sdk.Transport, *http.Client, error) {
	s := sv.config
	g, err := newGuard(s)
	if err != nil {
		return nil, nil, err
	}
	g.skipped, g.announced = (&printed{server: sv}).add, u.announced
	if g.tokens, err = s.tokens(ctx, sv.set.opts.Logins, u.track); err != nil {
		return nil, nil, err
	}
	g.noLogin = g.tokens == nil && g.header.Get("Authorization") == "" && (s.Auth == nil || s.Auth.Strategy == AuthOAuth2)
	client := &http.Client{Transport: g, CheckRedirect: g.redirect}
	if s.transport() == SSE {
		return &sdk.SSEClientTransport{Endpoint: s.URL, HTTPClient: client, MaxEventSize: maxMessage}, client, nil
	}
	stream := g.base.Clone()
	stream.ResponseHeaderTimeout = streamWait
	g.stream = stream
	return &sdk.StreamableClientTransport{Endpoint: s.URL, HTTPClient: client, MaxEventSize: maxMessage}, client, nil
}

// newGuard returns the guard of a server's requests, without its login.
func newGuard(s Server) (*guard, error) {
	u, err := url.Parse(s.URL)
	if err != nil {
		return nil, fault.New(fault.Invalid, "the URL cannot be read")
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fault.New(fault.Invalid, "the URL must begin with http:// or https://")
	}
	base := http.DefaultTransport.(*http.Transport).Clone()
	route := outbound.NewRoute(net.Dialer{Timeout: connectTime, KeepAlive: 30 * time.Second})
	base.Proxy, base.DialContext = route.Proxy, route.Dial
	base.ResponseHeaderTimeout = 0 // a call may take its time; its context ends it
	base.IdleConnTimeout = 30 * time.Second
	return &guard{base: base, origin: originOf(u), header: s.header()}, nil
}

// maxRedirects is how many redirects of one request are followed, as in net/http.
const maxRedirects = 10

// guard lets requests go to the configured origin only, adds the configured
// headers to them, and bounds answers. A server that names another origin, by a
// redirect or as the address for messages (SSE), would otherwise have this process
// send requests to services that only this machine can reach.
type guard struct {
	base   *http.Transport
	stream *http.Transport // for the stream of streamable HTTP; nil with SSE
	origin string
	header http.Header
	tokens *tokens // of a login; nil for none
	// noLogin says that the server may want a login that was not made.
	noLogin bool
	// skipped is told of events that are left out, and announced of a change of the list of tools,
	// before any later message is read; nil where no messages are read.
	skipped   func(text []byte)
	announced func()
}

// redirect is the CheckRedirect of the client: only redirects within the origin
// are followed.
func (g *guard) redirect(r *http.Request, via []*http.Request) error {
	if len(via) >= maxRedirects {
		return fault.New(fault.Invalid, fmt.Sprintf("the server redirects more than %d times", maxRedirects))
	}
	return g.check(r.URL)
}

func (g *guard) check(u *url.URL) error {
	if to := originOf(u); to != g.origin {
		return fault.New(fault.Denied, "the server refers to another origin, "+describe(to, 200)+", which is not asked")
	}
	return nil
}

// RoundTrip implements [http.RoundTripper].
func (g *guard) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := g.check(r.URL); err != nil {
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, err
	}
	redirected := r.Response != nil // set by the client
	r = r.Clone(r.Context())
	maps.Copy(r.Header, g.header)
	resp, err := g.loggedIn(r)
	if err != nil {
		return nil, err
	}
	switch {
	case redirected && resp.StatusCode/100 != 2: // errors show the body, and it does not come from the configured address
		resp.Body.Close()
		resp.Body = http.NoBody
	case !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream"):
		resp.Body = &bounded{ReadCloser: resp.Body, left: maxMessage}
	}
	if kind := resp.Header.Get("Content-Type"); g.skipped != nil && (strings.HasPrefix(kind, "application/json") || strings.HasPrefix(kind, "text/event-stream")) {
		resp.Body = &body{
			ReadCloser: resp.Body, buf: bufio.NewReader(resp.Body), events: kind[0] == 't',
			skipped: g.skipped, announced: g.announced,
		}
	}
	return resp, nil
}

// loggedIn sends a request with the access token of the login. A token that the server refuses is
// renewed, and the request is sent once more.
func (g *guard) loggedIn(r *http.Request) (*http.Response, error) {
	if g.tokens == nil {
		resp, err := g.send(r)
		if err == nil && g.noLogin && resp.StatusCode == http.StatusUnauthorized {
			resp.Body.Close()
			return nil, errLogin
		}
		return resp, err
	}
	token, err := g.tokens.access(r.Context(), "")
	if err != nil {
		return nil, errors.Join(err, closeBody(r))
	}
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := g.send(r)
	if err != nil || resp.StatusCode != http.StatusUnauthorized {
		return resp, err
	}
	resp.Body.Close()
	again := r.Clone(r.Context())
	if r.GetBody != nil {
		if again.Body, err = r.GetBody(); err != nil {
			return nil, err
		}
	}
	if token, err = g.tokens.access(r.Context(), token); err != nil {
		return nil, errors.Join(err, closeBody(again))
	}
	again.Header.Set("Authorization", "Bearer "+token)
	if resp, err = g.send(again); err == nil && resp.StatusCode == http.StatusUnauthorized {
		resp.Body.Close()
		return nil, errLogin
	}
	return resp, err
}

func closeBody(r *http.Request) error {
	if r.Body == nil {
		return nil
	}
	return r.Body.Close()
}

// send answers 405, which means "no such stream" in the protocol, for a stream
// that does not open in time, or is redirected to another origin.
func (g *guard) send(r *http.Request) (*http.Response, error) {
	if g.stream == nil || r.Method != http.MethodGet || r.Header.Get("Last-Event-ID") != "" {
		return g.base.RoundTrip(r)
	}
	resp, err := g.stream.RoundTrip(r)
	var slow net.Error
	if errors.As(err, &slow) && slow.Timeout() && r.Context().Err() == nil {
		return noStream(r), nil
	}
	if err == nil && resp.StatusCode/100 == 3 {
		if to, err := resp.Location(); err != nil || g.check(to) != nil {
			resp.Body.Close()
			return noStream(r), nil
		}
	}
	return resp, err
}

func noStream(r *http.Request) *http.Response {
	return &http.Response{
		StatusCode: http.StatusMethodNotAllowed, Status: "405 Method Not Allowed",
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: http.NoBody, Request: r,
	}
}

// CloseIdleConnections is called by [http.Client.CloseIdleConnections].
func (g *guard) CloseIdleConnections() {
	g.base.CloseIdleConnections()
	if g.stream != nil {
		g.stream.CloseIdleConnections()
	}
}

func originOf(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + strings.ToLower(u.Hostname()) + ":" + port
}

var errTooLong = errors.New("the answer is too long")

// bounded is a body that ends in an error where it gets too long.
type bounded struct {
	io.ReadCloser
	left int
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooLong
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
