package appserver

import (
	"net/http"
	"time"

	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/internal/ratelimit"
	"github.com/deft-dev/deft/server/rest"
)

// costly are the routes that start something or pack much, by their patterns.
var costly = map[string]bool{
	"POST /api/v1/app-conversations":                            true,
	"POST /api/v1/app-conversations/stream-start":               true,
	"POST /api/v1/app-conversations/{conversation_id}/resume":   true,
	"POST /api/v1/app-conversations/import":                     true,
	"POST /api/v1/app-conversations/replay":                     true,
	"POST /api/v1/sandboxes":                                    true,
	"POST /api/v1/sandbox-specs/try":                            true,
	"GET /api/v1/app-conversations/{conversation_id}/download":  true,
	"POST /api/v1/app-conversations/{conversation_id}/git/push": true,
	"POST /api/conversations":                                   true,
	"POST /api/conversations/{conversation_id}/start":           true,
	"GET /api/conversations/{conversation_id}/zip-directory":    true,
	"GET /api/conversations/{conversation_id}/trajectory":       true,
}

// markCostly marks the costly routes.
func markCostly(all []rest.Route) []rest.Route {
	for i := range all {
		all[i].Costly = costly[all[i].Pattern()]
	}
	return all
}

// costlyLimit bounds the costly requests of each owner: those of a minute at once, then
// evenly.
func costlyLimit(perMinute int) func(r *http.Request) time.Duration {
	if perMinute == 0 {
		return nil
	}
	l := ratelimit.New(perMinute, time.Minute/time.Duration(perMinute))
	return func(r *http.Request) time.Duration {
		return l.Take(string(identity.CallerOf(r.Context()).Owner), time.Now())
	}
}
