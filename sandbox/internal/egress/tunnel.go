package egress

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// connect serves a CONNECT request: a tunnel to the target.
func (p *Proxy) connect(w http.ResponseWriter, r *http.Request) {
	to, err := p.open(r)
	if err != nil {
		p.refused.note(err)
		refuse(w, err)
		return
	}
	hijacked, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		to.Close()
		answer(w, err)
		return
	}
	stop := context.AfterFunc(r.Context(), func() {
		hijacked.Close()
		to.Close()
	})
	defer stop()
	defer hijacked.Close()
	defer to.Close()
	if _, err := io.WriteString(hijacked, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	from := hijacked
	if c, ok := from.(*client); ok {
		from = c.Conn // so that the kernel can copy
	}
	if n := buffered.Reader.Buffered(); n > 0 { // sent without waiting for the answer
		early, err := buffered.Reader.Peek(n)
		if err != nil {
			return
		}
		if _, err := to.Write(early); err != nil {
			return
		}
	}
	done := make(chan error, 1)
	go func() { done <- pipe(from, to) }()
	if err := pipe(to, from); err != nil {
		hijacked.Close() // the other direction ends too
		to.Close()
	}
	<-done
}

// pipe copies until the source ends, and passes on that end. After an error both
// connections are closed, so that the other direction ends as well.
func pipe(to, from net.Conn) error {
	_, err := io.Copy(to, from)
	half, ok := to.(interface{ CloseWrite() error })
	if err == nil && ok {
		err = half.CloseWrite()
	}
	if err != nil || !ok {
		to.Close()
		from.Close()
	}
	return err
}

// open connects to the target of a CONNECT request, by an upstream proxy if there
// is one.
func (p *Proxy) open(r *http.Request) (net.Conn, error) {
	t, err := parseTarget(r.Host, 0)
	if err != nil {
		return nil, err
	}
	if t.granted, err = p.admit(t); err != nil {
		return nil, err
	}
	up, err := p.o.Upstream(&http.Request{URL: &url.URL{Scheme: "https", Host: t.String()}})
	if err != nil {
		return nil, unreachable{t, err}
	}
	ctx, cancel := context.WithTimeout(r.Context(), dialTimeout)
	defer cancel()
	if up == nil {
		return p.dial(ctx, t)
	}
	if err := p.judgeForUpstream(ctx, t); err != nil {
		return nil, err
	}
	conn, err := openUpstream(ctx, up, t)
	if err != nil {
		return nil, unreachable{t, err}
	}
	return conn, nil
}

// openUpstream makes a tunnel by an upstream proxy, whose own address is reached
// because the host's user configured it.
func openUpstream(ctx context.Context, up *url.URL, t target) (conn net.Conn, err error) {
	port := up.Port()
	switch {
	case up.Scheme != "http" && up.Scheme != "https":
		return nil, fmt.Errorf("the host's proxy is of the kind %s, only http and https are supported", up.Scheme)
	case port == "" && up.Scheme == "https":
		port = "443"
	case port == "":
		port = "80"
	}
	address := net.JoinHostPort(up.Hostname(), port)
	if up.Scheme == "https" {
		conn, err = (&tls.Dialer{}).DialContext(ctx, "tcp", address)
	} else {
		conn, err = new(net.Dialer).DialContext(ctx, "tcp", address)
	}
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	in, err := handshake(conn, up, t)
	if err == nil && !stop() {
		err = context.Cause(ctx)
	}
	if err != nil {
		stop()
		conn.Close()
		return nil, err
	}
	if in.Buffered() > 0 {
		return &ahead{conn, in}, nil
	}
	return conn, nil
}

// handshake asks an upstream proxy for a tunnel.
func handshake(conn net.Conn, up *url.URL, t target) (*bufio.Reader, error) {
	request := "CONNECT " + t.String() + " HTTP/1.1\r\nHost: " + t.String() + "\r\n"
	if up.User != nil {
		password, _ := up.User.Password()
		request += "Proxy-Authorization: Basic " +
			base64.StdEncoding.EncodeToString([]byte(up.User.Username()+":"+password)) + "\r\n"
	}
	if _, err := io.WriteString(conn, request+"\r\n"); err != nil {
		return nil, err
	}
	in := bufio.NewReaderSize(io.LimitReader(conn, maxHeader), 4096)
	resp, err := http.ReadResponse(in, &http.Request{Method: http.MethodConnect})
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK { // otherwise the next bytes are not a body, but the tunnel
		resp.Body.Close()
		return nil, errors.New("the host's proxy answers " + fmt.Sprint(resp.StatusCode))
	}
	return in, nil
}

// ahead is a connection of which some bytes were read ahead.
type ahead struct {
	net.Conn
	in *bufio.Reader
}

// Read implements [net.Conn].
func (a *ahead) Read(b []byte) (int, error) {
	if a.in.Buffered() > 0 {
		return a.in.Read(b[:min(len(b), a.in.Buffered())])
	}
	return a.Conn.Read(b)
}

// CloseWrite ends one direction.
func (a *ahead) CloseWrite() error {
	if c, ok := a.Conn.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return a.Conn.Close()
}

// refuse answers CONNECT with the reason in the first line too: most clients show
// nothing else.
func refuse(w http.ResponseWriter, err error) {
	code, text := status(err)
	conn, _, herr := http.NewResponseController(w).Hijack()
	if herr != nil {
		answer(w, err)
		return
	}
	defer conn.Close()
	line := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, text)
	// The client learns nothing else if this fails: it has left.
	_, _ = fmt.Fprintf(conn, "HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s\n",
		code, line, len(text)+1, text)
}
