package ports

import (
	"context"
	"errors"
	"fmt"
	"html"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/cookies"
)

// Proxy passes requests on to a program.
type Proxy struct {
	Port int
	// Link connects to its sandbox.
	Link func(ctx context.Context) (Link, error)
	// Prefix begins the paths of requests, and is taken away; "" for none.
	Prefix string
	Log    *slog.Logger
}

// ServeHTTP implements [http.Handler].
func (p Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	own, inside := r.Host, net.JoinHostPort("localhost", strconv.Itoa(p.Port))
	transport := &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			link, err := p.Link(ctx)
			if err != nil {
				return nil, err
			}
			conn, err := link.Dial(ctx, p.Port)
			if closed := link.Close(); closed != nil && err == nil {
				err = errors.Join(closed, conn.Close())
			}
			return conn, err
		},
	}
	proxy := httputil.ReverseProxy{
		Transport: transport, FlushInterval: -1,
		Rewrite: func(q *httputil.ProxyRequest) {
			q.SetURL(&url.URL{Scheme: "http", Host: inside})
			if p.Prefix != "" { // by it a program makes its own addresses
				q.Out.URL.Path, q.Out.URL.RawPath = "/"+strings.TrimPrefix(q.In.URL.Path[len(p.Prefix):], "/"), ""
				q.Out.Header.Set("X-Forwarded-Prefix", p.Prefix)
			}
			q.Out.Host = inside // servers for development answer to no other name
			q.SetXForwarded()
			// Servers compare the origin with the host, and some with the one that is forwarded.
			q.Out.Header.Del("X-Forwarded-Host")
			if o, err := url.Parse(q.In.Header.Get("Origin")); err == nil && o.Host == own {
				o.Host = inside
				q.Out.Header.Set("Origin", o.String())
			}
			// A browser should send none of Deft's cookies here.
			cookies.StripRequest(q.Out.Header)
		},
		ModifyResponse: func(res *http.Response) error {
			h := res.Header
			h.Set("Referrer-Policy", "no-referrer") // the address is a secret
			h.Set("X-Robots-Tag", "noindex")
			if to, err := url.Parse(h.Get("Location")); err == nil && to.Host == inside {
				to.Scheme, to.Host, to.Path = "", own, p.Prefix+to.Path
				h.Set("Location", to.String())
			}
			cookies.StripAnswer(h)
			set := h.Values("Set-Cookie")
			h.Del("Set-Cookie")
			for _, line := range set {
				// One for the domain would reach other conversations' programs.
				if c, err := http.ParseSetCookie(line); err == nil && c.Domain == "" {
					h.Add("Set-Cookie", line)
				}
			}
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if r.Context().Err() != nil {
				return // the browser has left
			}
			status := http.StatusBadGateway
			if fault.Is(err, fault.NotFound) || fault.Is(err, fault.Unsupported) {
				status = http.StatusServiceUnavailable
			}
			p.Log.Debug("a program in a sandbox did not answer", "port", p.Port, "err", err)
			Say(w, status, fmt.Sprintf("Port %d of the sandbox does not answer", p.Port), said(err))
		},
	}
	proxy.ServeHTTP(w, r)
}

// said is an error in a sentence.
func said(err error) string {
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return f.Error()
	}
	return "The program has not answered."
}

// Say answers with a page that no program made.
func Say(w http.ResponseWriter, status int, title, text string) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>%s</title>\n<h1>%[1]s</h1>\n<p>%s</p>\n</html>\n", html.EscapeString(title), html.EscapeString(text)) // a client that has gone misses nothing
}
