package secret

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/outbound"
)

// maxValue is how many bytes a looked-up value may have: more than a variable
// can hold.
const maxValue = 256 << 10

// defaultClient follows no redirect, as the reference does not, so that
// headers with keys reach no other server. It keeps no connection: lookups are
// rare, and no call would close it.
var defaultClient = &http.Client{
	Transport:     &http.Transport{Proxy: route.Proxy, DialContext: route.Dial, DisableKeepAlives: true, MaxResponseHeaderBytes: 1 << 20},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

var route = outbound.NewRoute(net.Dialer{})

// asking is a lookup that goes on; the result is set when done is closed.
type asking struct {
	done  chan struct{}
	value string
	err   error
}

// lookup returns the current value of a secret; empty with a nil error for a
// secret that has none or is not there. Of callers at the same time one asks.
func (r *Registry) lookup(ctx context.Context, name string) (string, error) {
	for {
		r.mu.Lock()
		e := r.byName[name]
		switch {
		case e == nil:
			r.mu.Unlock()
			return "", nil
		case e.source.Kind != KindLookup:
			defer r.mu.Unlock()
			return e.source.Value, nil
		case !e.at.IsZero() && time.Since(e.at) < r.o.Refresh:
			defer r.mu.Unlock()
			return e.value, nil
		}
		a, mine := e.asking, e.asking == nil
		if mine {
			a = &asking{done: make(chan struct{})}
			e.asking = a
		}
		source := e.source
		r.mu.Unlock()
		if mine {
			r.ask(ctx, e, source, a)
			return a.value, a.err
		}
		select {
		case <-a.done:
		case <-ctx.Done():
			return "", fault.Wrap(ctx.Err(), fault.Canceled, "stopped waiting for the value")
		}
		if !fault.Is(a.err, fault.Canceled) { // else who asked has left, and it is our turn
			return a.value, a.err
		}
	}
}

// ask fetches a value and remembers it, unless the secret was replaced
// meanwhile.
func (r *Registry) ask(ctx context.Context, e *entry, source Source, a *asking) {
	a.value, a.err = r.fetch(ctx, source)
	r.mu.Lock()
	defer r.mu.Unlock()
	defer close(a.done)
	if e.asking == a {
		e.asking = nil
		if a.err == nil {
			e.value, e.at = a.value, time.Now()
		}
	}
	r.learnLookedUp(a.value)
}

// maxFormer is how many looked-up values stay masked, the latest. A token that
// changes every minute would otherwise fill the memory.
const maxFormer = 256

// learnLookedUp makes a value known and forgets the oldest that is no longer
// in use. r.mu is held.
func (r *Registry) learnLookedUp(value string) {
	if r.known[value] || !r.learn(value) {
		return
	}
	if r.lookedUp = append(r.lookedUp, value); len(r.lookedUp) <= maxFormer {
		return
	}
	oldest := r.lookedUp[0]
	r.lookedUp = r.lookedUp[1:]
	for _, e := range r.entries {
		if e.value == oldest || e.source.Value == oldest {
			r.lookedUp = append(r.lookedUp, oldest)
			return
		}
	}
	delete(r.known, oldest)
}

func (r *Registry) fetch(ctx context.Context, source Source) (string, error) {
	if r.o.Local == nil {
		return r.get(ctx, source)
	}
	if value, ok := r.o.Local(ctx, source.URL); ok {
		return value, nil
	}
	value, err := r.get(ctx, source)
	if fault.Is(err, fault.Unavailable) || fault.Is(err, fault.Denied) {
		// It may be stored with the port that this server had at that time.
		if path, ok := formerly(source.URL); ok {
			if value, ok := r.o.Local(ctx, path); ok {
				return value, nil
			}
		}
	}
	return value, err
}

func (r *Registry) get(ctx context.Context, source Source) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, r.o.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, source.URL, nil)
	if err != nil || req.URL.Host == "" || req.URL.Scheme != "http" && req.URL.Scheme != "https" {
		return "", fault.New(fault.Invalid, "the lookup has no usable URL")
	}
	for name, v := range source.Headers {
		req.Header.Set(name, v)
	}
	resp, err := r.o.Client.Do(req)
	if err != nil {
		return "", unreachable(req.URL, err)
	}
	defer func() { _ = resp.Body.Close() }() // it was read, nothing is left to fail
	if resp.StatusCode/100 != 2 {
		return "", fault.New(fault.Unavailable, fmt.Sprintf("%s answered with status %d", req.URL.Host, resp.StatusCode))
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxValue+1))
	switch {
	case err != nil:
		return "", unreachable(req.URL, err)
	case len(body) > maxValue:
		return "", fault.New(fault.Invalid, fmt.Sprintf("%s answered with more than %d bytes", req.URL.Host, maxValue))
	}
	return strings.ToValidUTF8(string(body), "\uFFFD"), nil
}

// unreachable names a failure by its kind only: the texts of errors may hold the
// URL with its query, or a header.
func unreachable(u *url.URL, err error) error {
	var timeout net.Error
	switch {
	case errors.Is(err, context.Canceled):
		return fault.New(fault.Canceled, "stopped waiting for "+u.Host)
	case errors.As(err, &timeout) && timeout.Timeout():
		return fault.New(fault.Timeout, u.Host+" did not answer in time")
	case fault.Is(err, fault.Denied): // package outbound names the host only
		return fault.New(fault.Denied, u.Host+" may not be reached from this server").Hint(fault.HintOf(err))
	}
	return fault.New(fault.Unavailable, u.Host+" cannot be reached")
}

// localPath is where a server has the values of its stored secrets.
const localPath = "/api/settings/secrets/"

// LocalPath is the relative URL at which a server has the value of a stored secret.
func LocalPath(name string) string { return localPath + url.PathEscape(name) }

// LocalName returns the name of the stored secret that a lookup's URL stands
// for, if it is one of the server at the given base URL, under any of its
// loopback names, or has no host at all.
func LocalName(server, lookup string) (name string, ok bool) {
	s, err := url.Parse(server)
	if err != nil {
		return "", false
	}
	u, err := url.Parse(lookup)
	if err != nil {
		return "", false
	}
	if u = s.ResolveReference(u); u.Scheme != s.Scheme || port(u) != port(s) {
		return "", false
	}
	if u.Hostname() != s.Hostname() && (!loopback(u.Hostname()) || !loopback(s.Hostname())) {
		return "", false
	}
	name, ok = strings.CutPrefix(u.Path, localPath)
	if !ok || name == "" || strings.Contains(name, "/") {
		return "", false
	}
	return name, true
}

// StoredName is [LocalName] also for the address of a secret as a server at another port of this
// machine had it: conversations find that here, too.
func StoredName(server, lookup string) (name string, ok bool) {
	if name, ok = LocalName(server, lookup); ok {
		return name, ok
	}
	path, ok := formerly(lookup)
	if !ok {
		return "", false
	}
	return LocalName(server, path)
}

// formerly returns the relative URL of a lookup at this machine that may be of a stored secret
// of this server.
func formerly(lookup string) (path string, ok bool) {
	u, err := url.Parse(lookup)
	if err != nil || u.Scheme != "http" || !loopback(u.Hostname()) || !strings.HasPrefix(u.Path, localPath) {
		return "", false
	}
	return u.EscapedPath(), true
}

func port(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	return map[string]string{"http": "80", "https": "443"}[u.Scheme]
}

func loopback(host string) bool { return host == "127.0.0.1" || host == "localhost" || host == "::1" }
