package debuglog

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/deft-dev/deft/internal/outbound"
	"github.com/deft-dev/deft/llm"
)

// Lengths of secrets in bytes.
const (
	// shortest is the minimum length of a secret: replacing every "x" would
	// leave the log unreadable.
	shortest = 6
	// fragment is the minimum length of a part of a secret that is removed, as
	// when an answer that repeats a key is streamed in pieces.
	fragment = 8
)

// Client returns a client whose exchanges are logged, with the limits of the
// adapters' own clients. connect limits connecting; 0 takes 10 s. keys are
// removed from everything written.
func (l *Log) Client(connect time.Duration, keys ...llm.Secret) *http.Client {
	connect = cmp.Or(connect, 10*time.Second)
	route := outbound.NewRoute(net.Dialer{Timeout: connect, KeepAlive: 30 * time.Second})
	return &http.Client{Transport: l.Transport(&http.Transport{
		Proxy: route.Proxy, DialContext: route.Dial, ForceAttemptHTTP2: true, TLSHandshakeTimeout: connect,
		MaxIdleConns: 256, MaxIdleConnsPerHost: 64, IdleConnTimeout: 90 * time.Second, ReadBufferSize: 16 << 10,
	}, keys...)}
}

// Transport logs the exchanges of another transport.
func (l *Log) Transport(base http.RoundTripper, keys ...llm.Secret) http.RoundTripper {
	return &transport{l, base, keys}
}

type transport struct {
	log  *Log
	base http.RoundTripper
	keys []llm.Secret
}

// CloseIdleConnections serves http.Client.CloseIdleConnections.
func (t *transport) CloseIdleConnections() {
	if c, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	s := secretsOf(req, t.keys)
	sent := &capture{max: t.log.opts.MaxBody + s.longest}
	if req.Body != nil {
		// A copy, since a RoundTripper must not change the request.
		c := *req
		c.Body = &tee{req.Body, sent, nil}
		req = &c
	}
	x := &Exchange{Time: t.log.opts.Now()}
	x.Request = Message{Method: req.Method, URL: s.remove(redactedURL(req.URL)), Headers: s.headers(req.Header)}
	res, err := t.base.RoundTrip(req)
	finish := func(got *capture) {
		x.Request.Body, x.Request.Cut = s.body(sent, t.log.opts.MaxBody)
		if got != nil {
			x.Response.Body, x.Response.Cut = s.body(got, t.log.opts.MaxBody)
		}
		x.Seconds = t.log.opts.Now().Sub(x.Time).Seconds()
		t.log.write(x)
	}
	if err != nil {
		x.Error = s.remove(err.Error())
		finish(nil)
		return nil, err
	}
	x.Response = &Message{Status: res.StatusCode, Headers: s.headers(res.Header)}
	got := &capture{max: t.log.opts.MaxBody + s.longest}
	var once sync.Once
	res.Body = &tee{res.Body, got, func() { once.Do(func() { finish(got) }) }}
	return res, nil
}

// capture keeps the beginning of a body.
type capture struct {
	mu   sync.Mutex // the transport may still send when the answer ends
	data bytes.Buffer
	max  int
	cut  bool
}

func (c *capture) add(p []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if room := c.max - c.data.Len(); len(p) > room {
		c.cut = true
		p = p[:room]
	}
	c.data.Write(p)
}

// tee is a body that is captured while it is read.
type tee struct {
	io.ReadCloser
	to   *capture
	done func() // nil, or called at the end; it may be called again
}

// Read implements io.Reader.
func (t *tee) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	t.to.add(p[:n])
	if err != nil && t.done != nil {
		t.done()
	}
	return n, err
}

// Close implements io.Closer.
func (t *tee) Close() error {
	err := t.ReadCloser.Close()
	if t.done != nil {
		t.done()
	}
	return err
}

// secrets are the values that must not be written, in all their encodings.
type secrets struct {
	replace *strings.Replacer
	parts   map[string]bool // all of fragment bytes
	longest int             // bytes
}

// secretsOf collects the keys, and the credentials in the request's headers and
// URL.
func secretsOf(req *http.Request, keys []llm.Secret) secrets {
	var all []string
	add := func(v string) {
		if v = strings.TrimSpace(v); len(v) < shortest {
			return
		}
		all = append(all, v, url.QueryEscape(v), url.PathEscape(v))
		if quoted, err := json.Marshal(v); err == nil {
			all = append(all, string(quoted[1:len(quoted)-1]))
		}
	}
	for _, k := range keys {
		add(k.Reveal())
	}
	for name, values := range req.Header {
		if !hasCredential(name) {
			continue
		}
		for _, v := range values {
			add(v)
			if _, rest, ok := strings.Cut(v, " "); ok { // after the scheme
				add(rest)
			}
		}
	}
	for name, values := range req.URL.Query() {
		if hasCredential(name) {
			for _, v := range values {
				add(v)
			}
		}
	}
	if password, ok := req.URL.User.Password(); ok {
		add(password)
	}
	// The longest first: one may be part of another.
	slices.SortFunc(all, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	s := secrets{parts: map[string]bool{}}
	var pairs []string
	for _, v := range slices.Compact(all) {
		s.longest = max(s.longest, len(v))
		pairs = append(pairs, v, redacted)
		for i := range max(0, len(v)-fragment+1) {
			s.parts[v[i:i+fragment]] = true
		}
	}
	s.replace = strings.NewReplacer(pairs...)
	return s
}

// remove replaces secrets, and then parts of them.
func (s secrets) remove(text string) string {
	text = s.replace.Replace(text)
	var out strings.Builder
	kept := 0
	for i := 0; i+fragment <= len(text); i++ {
		if !s.parts[text[i:i+fragment]] {
			continue
		}
		out.WriteString(text[kept:i])
		out.WriteString(redacted)
		for i+fragment < len(text) && s.parts[text[i+1:i+1+fragment]] {
			i++
		}
		i += fragment - 1
		kept = i + 1
	}
	out.WriteString(text[kept:])
	return out.String()
}

func (s secrets) headers(h http.Header) map[string][]string {
	out := make(map[string][]string, len(h))
	for name, values := range h {
		if hasCredential(name) {
			out[name] = []string{redacted}
			continue
		}
		for _, v := range values {
			out[name] = append(out[name], s.remove(v))
		}
	}
	return out
}

// body returns the captured body without secrets, cut to the limit. The end of
// a cut capture may contain half a secret and is dropped; the capture is larger
// by that much.
func (s secrets) body(c *capture, limit int) (json.RawMessage, bool) {
	c.mu.Lock()
	text, cut := s.remove(strings.ToValidUTF8(c.data.String(), "\uFFFD")), c.cut || c.data.Len() > limit
	c.mu.Unlock()
	if cut {
		text = strings.ToValidUTF8(text[:max(0, min(len(text)-s.longest, limit))], "")
	}
	if text == "" {
		return nil, cut
	}
	if json.Valid([]byte(text)) {
		return json.RawMessage(text), cut
	}
	quoted, err := json.Marshal(text)
	if err != nil { // a string always encodes
		return nil, cut
	}
	return quoted, cut
}
