package remote

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

const (
	// listAge is for how long an answer about all runtimes holds, and listTime bounds the
	// wait for it: lists of conversations wait for it, and must not hang with the API.
	listAge  = 5 * time.Second
	listTime = 2 * time.Second
)

// listed is the API's list of this client's runtimes.
type listed struct {
	mu    sync.Mutex
	at    time.Time // when it was asked
	there map[string]runtime
	err   error
}

// forget has the API asked again for the next answer.
func (l *listed) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.at = time.Time{}
}

// Vanished implements [sandbox.Vanished]: the API knows nothing any more of a runtime
// that has run. One that has ended, and is kept with its files, has not vanished.
func (p *Provider) Vanished(ctx context.Context, ids []string) (map[string]time.Time, error) {
	if p.unusable != nil {
		return nil, p.unusable
	}
	started := map[string]time.Time{}
	var newest time.Time
	for _, id := range ids {
		if !validID().MatchString(id) {
			continue
		}
		info, err := os.Stat(p.mark(id))
		if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 { // it has not run yet
			continue
		}
		if err != nil {
			return nil, err
		}
		started[id] = info.ModTime()
		if info.ModTime().After(newest) {
			newest = info.ModTime()
		}
	}
	if len(started) == 0 {
		return started, nil
	}
	there, err := p.recent(ctx, newest)
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(started, func(id string, _ time.Time) bool { _, ok := there[id]; return ok })
	return started, nil
}

// recent is [Provider.runtimes] as it was a moment ago, but after a time.
func (p *Provider) recent(ctx context.Context, after time.Time) (map[string]runtime, error) {
	l := &p.listed
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.at) < listAge && l.at.After(after) {
		return l.there, l.err
	}
	l.at = time.Now()
	// The answer is for others too, who wait longer than this caller.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), listTime)
	defer cancel()
	l.there, l.err = p.runtimes(ctx)
	return l.there, l.err
}

// runtimes are this client's runtimes that the API has, in whatever state, by the ids
// of their sandboxes.
func (p *Provider) runtimes(ctx context.Context) (map[string]runtime, error) {
	prefix, err := p.prefix()
	if err != nil {
		return nil, err
	}
	var all struct{ Runtimes []runtime }
	if err := p.api.call(ctx, http.MethodGet, "/list", nil, &all); err != nil {
		return nil, err
	}
	found := map[string]runtime{}
	for _, rt := range all.Runtimes {
		if id, ours := strings.CutPrefix(rt.SessionID, prefix); ours {
			found[id] = rt
		}
	}
	return found, nil
}
