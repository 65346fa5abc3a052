package apps

import (
	"context"
	"crypto/subtle"
	"net/http"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/server/appserver/store"
	"github.com/deft-dev/deft/server/ports"
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
	ports.Proxy{
		Port: a.port, Log: s.o.Log, Link: func(ctx context.Context) (ports.Link, error) { return s.link(ctx, in, a.id) },
	}.ServeHTTP(w, r)
}
