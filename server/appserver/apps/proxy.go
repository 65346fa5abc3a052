package apps

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"html"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/cookies"
	"github.com/deft-dev/deft/server/appserver/store"
)

// Sandbox returns the sandbox that an address leads to. NotFound if the address was never
// given out, or the sandbox is gone.
func (s *Service) Sandbox(ctx context.Context, a App) (store.Sandbox, error) {
	missing := fault.New(fault.NotFound, "there is nothing at this address")
	if a.port == 0 {
		return store.Sandbox{}, missing
	}
	in, err := s.o.Store.SandboxOfConversation(ctx, string(a.id))
	if err != nil && !fault.Is(err, fault.NotFound) {
		return in, err
	}
	if err != nil || subtle.ConstantTimeCompare([]byte(token(in, a.id, a.port)), []byte(a.token)) != 1 {
		return in, missing
	}
	return in, nil
}

// Serve passes a request on to the program in a sandbox.
func (s *Service) Serve(w http.ResponseWriter, r *http.Request, in store.Sandbox, a App) {
	own, inside := r.Host, net.JoinHostPort(local, strconv.Itoa(a.port))
	transport := &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			link, err := s.link(ctx, in, a.id)
			if err != nil {
				return nil, err
			}
			conn, err := link.Dial(ctx, a.port)
			if closed := link.Close(); closed != nil && err == nil {
				err = errors.Join(closed, conn.Close())
			}
			return conn, err
		},
	}
	proxy := httputil.ReverseProxy{
		Transport: transport, FlushInterval: -1,
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(&url.URL{Scheme: "http", Host: inside})
			p.Out.Host = inside // servers for development answer to no other name
			p.SetXForwarded()
			// Servers compare the origin with the host, and some with the one that is forwarded.
			p.Out.Header.Del("X-Forwarded-Host")
			if o, err := url.Parse(p.In.Header.Get("Origin")); err == nil && o.Host == own {
				o.Host = inside
				p.Out.Header.Set("Origin", o.String())
			}
			// A browser should send none of Deft's cookies here.
			if kept := cookies.Strip(strings.Join(p.In.Header.Values("Cookie"), "; ")); kept != "" {
				p.Out.Header.Set("Cookie", kept)
			} else {
				p.Out.Header.Del("Cookie")
			}
		},
		ModifyResponse: func(res *http.Response) error {
			h := res.Header
			h.Set("Referrer-Policy", "no-referrer") // the address is a secret
			h.Set("X-Robots-Tag", "noindex")
			if to, err := url.Parse(h.Get("Location")); err == nil && to.Host == inside {
				to.Scheme, to.Host = "", own
				h.Set("Location", to.String())
			}
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
			s.o.Log.Debug("a program in a sandbox did not answer", "port", a.port, "err", err)
			Say(w, status, fmt.Sprintf("Port %d of the sandbox does not answer", a.port), said(err))
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
