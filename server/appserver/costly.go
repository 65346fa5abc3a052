package appserver

import (
	"net/http"
	"time"

	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/internal/ratelimit"
)

// costlyLimit bounds the costly requests of each owner: a minute's requests at once,
// then evenly.
func costlyLimit(perMinute int) func(r *http.Request) time.Duration {
	if perMinute == 0 {
		return nil
	}
	l := ratelimit.New(perMinute, time.Minute/time.Duration(perMinute))
	return func(r *http.Request) time.Duration {
		return l.Take(string(identity.CallerOf(r.Context()).Tenant()), time.Now())
	}
}
