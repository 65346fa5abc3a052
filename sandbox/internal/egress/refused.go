package egress

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"
)

// RefusedPath is where a proxy tells its own clients its refusals, one line per host,
// since many programs do not show the proxy's answers. The parameter within, a
// duration, leaves out older ones.
const RefusedPath = "/refused"

// ServerName is in the header Server of that answer, unlike in another proxy's.
const ServerName = "deft"

// maxRefused is how many hosts are remembered, the latest ones.
const maxRefused = 32

// refused remembers a proxy's refusals. It is safe for concurrent use.
type refused struct {
	mu     sync.Mutex
	latest []refusedHost
}

type refusedHost struct {
	text string
	at   time.Time
}

// note remembers an error if it is a refusal.
func (r *refused) note(err error) {
	var refusal refusal
	if !errors.As(err, &refusal) {
		return
	}
	text := refusal.Error()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.latest = slices.DeleteFunc(r.latest, func(h refusedHost) bool { return h.text == text })
	r.latest = append(r.latest, refusedHost{text, time.Now()})
	if len(r.latest) > maxRefused {
		r.latest = slices.Delete(r.latest, 0, 1)
	}
}

// ServeHTTP lists the refusals.
func (r *refused) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	within, err := time.ParseDuration(req.URL.Query().Get("within"))
	if err != nil {
		http.Error(w, "deft: within is a duration, for example 10s", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Server", ServerName)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, h := range r.latest {
		if time.Since(h.at) <= within {
			_, _ = io.WriteString(w, h.text+"\n") // the client has left if this fails
		}
	}
}
