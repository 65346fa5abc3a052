package tunnel

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"time"

	"github.com/deft-dev/deft/fault"
)

// answerTime bounds the wait for the answer to an upgrade.
const answerTime = 30 * time.Second

// Dialer makes connections. URL is where the server is reached, without the routes of
// this package; Key is the server's.
type Dialer struct {
	URL, Key string
	// Transport makes the HTTP connections; it does not follow redirects, and the key
	// is sent to URL only. Default: one that asks the environment for a proxy.
	Transport http.RoundTripper
}

var defaultTransport = func() http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // the standard library's
	t.ForceAttemptHTTP2, t.TLSClientConfig, t.ResponseHeaderTimeout = false, nil, answerTime
	t.Protocols = new(http.Protocols)
	t.Protocols.SetHTTP1(true) // HTTP/2 has no upgrades
	return t
}()

// Dial connects to the server. It does not wait for one that has not started.
func (d Dialer) Dial(ctx context.Context) (net.Conn, error) { return d.upgrade(ctx, linkPath) }

// Watch returns a connection on which nothing is sent: reading from it ends when the
// server does, or the way there.
func (d Dialer) Watch(ctx context.Context) (net.Conn, error) { return d.upgrade(ctx, watchPath) }

func (d Dialer) upgrade(ctx context.Context, path string) (net.Conn, error) {
	var raw net.Conn
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) { raw = i.Conn }})
	r, err := http.NewRequestWithContext(traced, http.MethodGet, strings.TrimSuffix(d.URL, "/")+path, nil)
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "connect to the sandbox")
	}
	r.Header.Set("Connection", "Upgrade")
	r.Header.Set("Upgrade", protocol)
	r.Header.Set(keyHeader, d.Key)
	transport := d.Transport
	transport = cmp.Or(transport, defaultTransport)
	resp, err := transport.RoundTrip(r)
	if err != nil {
		if ctx.Err() != nil {
			return nil, fault.Wrap(context.Cause(ctx), fault.Canceled, "connect to the sandbox")
		}
		return nil, fault.Wrap(err, fault.Unavailable, "connect to the sandbox")
	}
	if body, ok := resp.Body.(io.ReadWriteCloser); ok && resp.StatusCode == http.StatusSwitchingProtocols && resp.Header.Get("Upgrade") == protocol {
		return &conn{ReadWriteCloser: body, raw: raw}, nil
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 500))
	if err != nil {
		return nil, fault.Wrap(err, fault.Unavailable, "connect to the sandbox")
	}
	said := errors.New(resp.Status + ": " + strings.TrimSpace(string(text)))
	switch resp.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		return nil, fault.New(fault.Denied, "the sandbox's server refuses the session key").Because(said)
	case http.StatusNotFound:
		return nil, fault.New(fault.NotFound, "there is no sandbox with Deft's action server at its address").Because(said)
	}
	return nil, fault.New(fault.Unavailable, "the sandbox's server does not answer").Because(said)
}

// conn is an upgraded connection.
type conn struct {
	io.ReadWriteCloser // which may hold bytes that were read with the answer
	raw                net.Conn
}

func (c *conn) LocalAddr() net.Addr                { return c.raw.LocalAddr() }
func (c *conn) RemoteAddr() net.Addr               { return c.raw.RemoteAddr() }
func (c *conn) SetDeadline(t time.Time) error      { return c.raw.SetDeadline(t) }
func (c *conn) SetReadDeadline(t time.Time) error  { return c.raw.SetReadDeadline(t) }
func (c *conn) SetWriteDeadline(t time.Time) error { return c.raw.SetWriteDeadline(t) }
