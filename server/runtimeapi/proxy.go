package runtimeapi

import (
	"context"
	"crypto/subtle"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/cookies"
)

// dialKey finds the Dial of a request's runtime in its context.
type dialKey struct{}

// transport connects to the servers of runtimes. Connections are kept for each runtime and
// each of its starts.
var transport = &http.Transport{
	DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		dial, ok := ctx.Value(dialKey{}).(func(context.Context) (net.Conn, error))
		if !ok {
			return nil, fault.New(fault.Internal, "a request without a runtime")
		}
		return dial(ctx)
	},
	MaxIdleConnsPerHost: 8, IdleConnTimeout: 30 * time.Second, DisableCompression: true,
}

// sessionHeader has the session key of a request to a runtime, sessionQuery the key
// of a WebSocket, for which browsers set no headers.
const (
	sessionHeader = "X-Session-API-Key"
	sessionQuery  = "session_api_key"
)

// sessionKey returns the session key that a request shows.
func sessionKey(r *http.Request) string {
	if keys, ok := r.Header[http.CanonicalHeaderKey(sessionHeader)]; ok {
		return keys[0]
	}
	if strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		return r.URL.Query().Get(sessionQuery)
	}
	return ""
}

// withoutKey cuts the session key off a query.
func withoutKey(query string) string {
	parts := strings.Split(query, "&")
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool {
		name, _, _ := strings.Cut(part, "=")
		name, err := url.QueryUnescape(name)
		return err == nil && name == sessionQuery
	}), "&")
}

// proxy passes a request on to the server of a runtime, which checks the session key. For a
// program that the client has given, which does not know the key, it is checked here. The
// first skip parts of the path are left out.
func (s *Server) proxy(w http.ResponseWriter, r *http.Request, id string, skip int) {
	c, err := s.o.Registry.Connect(id)
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	defer c.Release()
	if c.Runtime.Given && subtle.ConstantTimeCompare([]byte(sessionKey(r)), []byte(c.Runtime.SessionKey)) != 1 {
		s.answer(w, http.StatusUnauthorized, detail(sessionHeader+" is missing or wrong"))
		return
	}
	p := httputil.ReverseProxy{
		Transport: transport, FlushInterval: -1,
		Rewrite: func(pr *httputil.ProxyRequest) {
			out := pr.Out
			out.URL.Scheme, out.URL.Host = "http", id+"-"+c.Runtime.Changed.UTC().Format("20060102150405.000000000")
			out.URL.Path, out.URL.RawPath = tail(pr.In.URL.Path, skip), tail(pr.In.URL.RawPath, skip)
			out.Host = pr.In.Host
			// Clients of OpenHands send their key for this API along: no runtime gets it.
			out.Header.Del("X-API-Key")
			if c.Runtime.Given {
				out.Header.Del(sessionHeader)
				out.URL.RawQuery = withoutKey(out.URL.RawQuery)
				cookies.StripRequest(out.Header)
			}
			pr.SetXForwarded()
		},
		ModifyResponse: func(res *http.Response) error {
			if c.Runtime.Given { // Deft's own server sets one
				cookies.StripAnswer(res.Header)
			}
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if r.Context().Err() != nil {
				return // the client has disconnected
			}
			s.o.Log.Info("a runtime's server does not answer", "runtime", id, "err", err)
			s.answer(w, http.StatusBadGateway, detail("the server of the runtime "+id+" does not answer"))
		},
	}
	p.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), dialKey{}, c.Dial)))
}

// tail cuts the first parts off a path.
func tail(path string, parts int) string {
	if path == "" { // not escaped
		return ""
	}
	for range parts {
		_, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
		path = "/" + rest
	}
	return path
}
