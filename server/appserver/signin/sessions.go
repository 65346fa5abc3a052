package signin

import (
	"cmp"
	"net/http"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/server/appserver/store"
	"github.com/deft-dev/deft/server/rest"
)

func (s *Service) sessionRoutes() []rest.Route {
	const tag = "Authentication"
	return []rest.Route{
		{Method: "GET", Path: "/api/v1/account", Tag: tag, Scope: rest.Account, Handle: rest.Value(s.account)},
		{Method: "GET", Path: "/api/v1/sessions", Tag: tag, Scope: rest.Account, Handle: rest.Value(s.sessions)},
		{Method: "DELETE", Path: "/api/v1/sessions", Tag: tag, Scope: rest.Account, Audited: true, Handle: s.endOthers},
		{Method: "DELETE", Path: "/api/v1/sessions/{id}", Tag: tag, Scope: rest.Account, Audited: true, Handle: s.endOne},
	}
}

// startSession gives the browser a session; c has its owner. A session that the browser had
// before ends: nobody goes on in one that somebody else has given to the browser.
func (s *Service) startSession(w http.ResponseWriter, r *http.Request, c store.Credential, lasts time.Duration) error {
	ctx, now := r.Context(), time.Now()
	if before, err := r.Cookie(s.cookieName(r)); err == nil {
		old, err := s.o.Store.Credential(ctx, before.Value, now)
		if err == nil && old.Kind == store.Cookie {
			err = s.o.Store.DeleteCredential(ctx, old.Owner, old.ID)
		}
		if err != nil && !fault.Is(err, fault.Auth) && !fault.Is(err, fault.NotFound) {
			return err
		}
	}
	if err := s.o.Store.DeleteExpired(ctx, now); err != nil {
		return err
	}
	c.Kind, c.Name = store.Cookie, device(r)
	_, secret, err := s.add(ctx, c, "", lasts)
	if err != nil {
		return err
	}
	http.SetCookie(w, s.cookie(r, secret, int(lasts/time.Second)))
	return nil
}

// account says who the caller is.
func (s *Service) account(r *http.Request) (any, error) {
	caller := identity.CallerOf(r.Context())
	type account struct {
		ID     string `json:"id"`
		Name   string `json:"name"`
		Email  string `json:"email"`
		Issuer string `json:"issuer"`
	}
	u, err := s.o.Store.User(r.Context(), string(caller.User))
	if fault.Is(err, fault.NotFound) { // the owner of the machine, who has no provider
		return account{ID: string(caller.User)}, nil
	}
	return account{u.ID, u.Name, u.Email, u.Issuer}, err
}

// shownSession is a browser's session as its user sees it. Times are in UTC.
type shownSession struct {
	ID string `json:"id"`
	// Device is the browser's User-Agent.
	Device  string     `json:"device"`
	Created time.Time  `json:"created_at"`
	Used    *time.Time `json:"used_at"`
	Expires time.Time  `json:"expires_at"`
	Current bool       `json:"current"`
}

func (s *Service) sessions(r *http.Request) (any, error) {
	caller, now := identity.CallerOf(r.Context()), time.Now()
	all, err := s.o.Store.Credentials(r.Context(), string(caller.User), store.Cookie)
	out := []shownSession{}
	for _, c := range all {
		if !c.Expires.IsZero() && !now.Before(c.Expires) {
			continue
		}
		one := shownSession{ID: c.ID, Device: c.Name, Created: c.Created, Expires: c.Expires, Current: c.ID == caller.Credential}
		if !c.Used.IsZero() {
			one.Used = &c.Used
		}
		out = append(out, one)
	}
	return out, err
}

// endOne ends a session.
func (s *Service) endOne(w http.ResponseWriter, r *http.Request) error {
	caller, id := identity.CallerOf(r.Context()), r.PathValue("id")
	all, err := s.o.Store.Credentials(r.Context(), string(caller.User), store.Cookie)
	if err != nil {
		return err
	}
	for _, c := range all {
		if c.ID == id {
			err = s.o.Store.DeleteCredential(r.Context(), c.Owner, c.ID)
			if err == nil {
				w.WriteHeader(http.StatusNoContent)
			}
			return err
		}
	}
	return fault.New(fault.NotFound, "there is no session "+id)
}

// endOthers ends all sessions but the caller's own.
func (s *Service) endOthers(w http.ResponseWriter, r *http.Request) error {
	caller := identity.CallerOf(r.Context())
	err := s.o.Store.DeleteCredentials(r.Context(), string(caller.User), store.Cookie, caller.Credential)
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}

// device is the User-Agent of a browser.
func device(r *http.Request) string { return cmp.Or(shortened(r.UserAgent()), "without a name") }
