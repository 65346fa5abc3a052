package exchange

import (
	"crypto/sha256"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"
)

// maxKept bounds the accounts whose limits are remembered.
const maxKept = 1000

// longest bounds the pause that a host may ask for.
const longest = 2 * time.Hour

// Limits remember until when hosts take no more requests of an account. The zero value is
// ready to use.
type Limits struct {
	mu    sync.Mutex
	ended map[string]time.Time
}

// keyOf names an account at a host without its token.
func keyOf(base *url.URL, secret string) string {
	sum := sha256.Sum256([]byte(base.Host + "\x00" + secret))
	return string(sum[:])
}

func (l *Limits) until(key string) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.ended[key]
}

// pause is the pause that an answer asks for.
type pause struct {
	asked bool
	until time.Time
}

// note remembers an answer's limits for later requests.
func (l *Limits) note(key string, resp answer) pause {
	p := pauseOf(resp, time.Now())
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case !p.asked:
		delete(l.ended, key)
	default:
		if l.ended == nil || len(l.ended) >= maxKept {
			l.ended = map[string]time.Time{}
		}
		l.ended[key] = p.until
	}
	return p
}

// pauseOf reads the headers of GitHub
// (https://docs.github.com/en/rest/using-the-rest-api/best-practices-for-using-the-rest-api)
// and GitLab (https://docs.gitlab.com/administration/settings/user_and_ip_rate_limits/);
// the others send Retry-After.
func pauseOf(resp answer, now time.Time) pause {
	h := resp.header
	if v := h.Get("Retry-After"); v != "" {
		if s, err := strconv.Atoi(v); err == nil && s >= 0 {
			return pause{true, now.Add(min(time.Duration(min(s, int(longest/time.Second)))*time.Second, longest))}
		}
		if t, err := http.ParseTime(v); err == nil {
			return pause{true, earlier(t, now.Add(longest))}
		}
	}
	for _, prefix := range []string{"X-RateLimit-", "RateLimit-"} {
		left, err := strconv.Atoi(h.Get(prefix + "Remaining"))
		reset, bad := strconv.ParseInt(h.Get(prefix+"Reset"), 10, 64)
		if err == nil && bad == nil && left <= 0 {
			return pause{true, earlier(time.Unix(reset, 0), now.Add(longest))}
		}
	}
	if resp.status == http.StatusTooManyRequests {
		return pause{true, now.Add(time.Minute)} // as GitHub recommends
	}
	return pause{}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
