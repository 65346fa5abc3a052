package signin

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/internal/cookies"
	"github.com/deft-dev/deft/internal/ratelimit"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/appserver/store"
	"github.com/deft-dev/deft/server/rest"
)

// A person without a printed link signs in at the identity provider by the authorization code
// flow (OpenID Connect Core 1.0 section 3.1) with PKCE: the browser goes to the provider and comes
// back with a code, which this server changes for a proof. No token of the provider is kept.

// signInTime is how long a person may take at the provider.
const signInTime = 15 * time.Minute

// mostTarget bounds the address of the page that the browser wants, in bytes.
const mostTarget = 2 << 10

// Paths of the flow. The provider's client names the second one as its redirect address, and the third
// one for back-channel logout.
const (
	startPath    = "/api/v1/sign-in/start"
	callbackPath = "/api/v1/sign-in/callback"
	endedPath    = "/api/v1/sign-in/ended"
)

// SignOn has people sign in at an identity provider. Its zero value has none.
type SignOn struct {
	// Provider proves who people are; nil for nobody.
	Provider identity.Provider
	// Name is the provider's for people.
	Name string
	// Admission says who may use the server.
	Admission identity.Admission
	// SessionTime is how long a browser stays signed in.
	SessionTime time.Duration
}

func (s *Service) providerRoutes() []rest.Route {
	const tag = "Authentication"
	return []rest.Route{
		{Method: "GET", Path: "/api/v1/sign-in", Tag: tag, Scope: rest.Public, Limit: rest.NoBody, Handle: s.ways},
		{Method: "GET", Path: startPath, Tag: tag, Scope: rest.Public, Limit: rest.NoBody, Handle: s.beginSignIn},
		{Method: "GET", Path: callbackPath, Tag: tag, Scope: rest.Public, Limit: rest.NoBody, Handle: s.endSignIn},
		{Method: "POST", Path: endedPath, Tag: tag, Scope: rest.Public, Limit: rest.MaxPublicBody, Handle: s.sessionsEnded},
	}
}

// ways says how a browser can sign in.
func (s *Service) ways(w http.ResponseWriter, _ *http.Request) error {
	type provider struct {
		Name string `json:"name"`
		URL  string `json:"url"`
	}
	var found *provider
	if s.o.SignOn.Provider != nil {
		found = &provider{s.o.SignOn.Name, startPath}
	}
	w.Header().Set("Cache-Control", "no-store")
	return rest.JSON(w, http.StatusOK, map[string]any{"provider": found})
}

func (s *Service) provider() (identity.Provider, error) {
	if s.o.SignOn.Provider == nil {
		return nil, fault.New(fault.NotFound, "this server has no identity provider").Hint("its operator can name one in the section [auth] of deft.toml")
	}
	return s.o.SignOn.Provider, nil
}

// localPage returns the address of a page of this server; "/" for any other text.
func localPage(text string) string {
	u, err := url.Parse(text)
	if err != nil || len(text) > mostTarget || u.Scheme != "" || u.Host != "" || u.User != nil || !strings.HasPrefix(text, "/") ||
		strings.HasPrefix(text, "//") || strings.ContainsAny(text, "\\\t\r\n") {
		return "/"
	}
	return text
}

// flow returns the secrets of a sign-in, which follow from the browser's secret and the state:
// the server keeps only hashes of both.
func (s *Service) flow(r *http.Request, browser, state string) identity.Flow {
	derive := func(use string) string {
		h := hmac.New(sha256.New, []byte(browser))
		h.Write([]byte(use + " " + state))
		return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
	}
	return identity.Flow{State: state, Nonce: derive("nonce"), Verifier: derive("verifier"), Redirect: s.o.Base(r) + callbackPath}
}

// beginSignIn sends the browser to the provider.
func (s *Service) beginSignIn(w http.ResponseWriter, r *http.Request) error {
	provider, err := s.provider()
	if err != nil {
		return err
	}
	if wait := s.attempts.Take(ratelimit.Network(s.o.Peer(r)), time.Now()); wait > 0 {
		return rest.TooMany(w, wait)
	}
	browser, state, now := newSecret(), newSecret(), time.Now()
	if c, err := r.Cookie(s.named(r, cookies.SignIn)); err == nil && c.Value != "" {
		browser = c.Value // two tabs sign in at the same time
	}
	address, err := provider.Begin(r.Context(), s.flow(r, browser, state))
	if err != nil {
		return s.failSignIn(w, r, err)
	}
	err = s.o.Store.BeginSignIn(r.Context(), store.SignIn{State: state, Browser: browser, Target: localPage(r.URL.Query().Get("to")), Expires: now.Add(signInTime)}, now)
	if err != nil {
		return err
	}
	http.SetCookie(w, &http.Cookie{
		Name: s.named(r, cookies.SignIn), Value: browser, Path: "/", MaxAge: int(signInTime / time.Second),
		HttpOnly: true, Secure: s.o.Secure(r), SameSite: http.SameSiteLaxMode, // the provider's page brings the browser back
	})
	return redirect(w, r, address)
}

// endSignIn takes the provider's answer, and gives the browser a session.
func (s *Service) endSignIn(w http.ResponseWriter, r *http.Request) error {
	provider, err := s.provider()
	if err != nil {
		return err
	}
	if wait := s.attempts.Take(ratelimit.Network(s.o.Peer(r)), time.Now()); wait > 0 {
		return rest.TooMany(w, wait)
	}
	answer, ctx := r.URL.Query(), r.Context()
	browser := ""
	if c, err := r.Cookie(s.named(r, cookies.SignIn)); err == nil {
		browser = c.Value
	}
	target, err := s.o.Store.EndSignIn(ctx, answer.Get("state"), browser, time.Now())
	if err != nil {
		return s.failSignIn(w, r, err)
	}
	person, err := provider.Finish(ctx, s.flow(r, browser, answer.Get("state")), answer)
	if err == nil {
		err = s.o.SignOn.Admission.Admits(person)
	}
	if err != nil {
		return s.failSignIn(w, r, err)
	}
	now := time.Now()
	user, err := s.o.Store.SignedIn(ctx, store.User{Issuer: person.Issuer, Subject: person.Subject, Email: person.Email, Name: person.Name, Seen: now})
	if err != nil {
		return err
	}
	if err := s.startSession(w, r, store.Credential{Owner: user.ID, ProviderSession: person.Session}, s.o.SignOn.SessionTime); err != nil {
		return err
	}
	s.o.Log.Info("a person has signed in", "user", user.ID, "issuer", user.Issuer, "subject", user.Subject)
	return redirect(w, r, target)
}

// failSignIn shows the page with the reason why nobody was signed in. Its words are for people;
// what only the operator needs is in the log.
func (s *Service) failSignIn(w http.ResponseWriter, r *http.Request, err error) error {
	s.o.Log.Warn("a person was not signed in", "peer", s.o.Peer(r), "err", err, "hint", fault.HintOf(err))
	reason := map[fault.Kind]string{fault.Denied: "denied", fault.Auth: "ended", fault.Unavailable: "unavailable"}[fault.KindOf(err)]
	return redirect(w, r, "/#sign-in="+cmp.Or(reason, "failed"))
}

func redirect(w http.ResponseWriter, r *http.Request, address string) error {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer") // the address has the code
	http.Redirect(w, r, address, http.StatusFound)
	return nil
}

// sessionsEnded ends the sessions that the provider says have ended (OpenID Connect
// Back-Channel Logout 1.0). A message that comes twice does nothing the second time.
func (s *Service) sessionsEnded(w http.ResponseWriter, r *http.Request) error {
	provider, err := s.provider()
	if err != nil {
		return err
	}
	if wait := s.polls.Take(ratelimit.Network(s.o.Peer(r)), time.Now()); wait > 0 {
		return rest.TooMany(w, wait)
	}
	form, err := readForm(r)
	if err != nil {
		return err
	}
	token := form.Get("logout_token")
	if token == "" {
		return schema.Missing("body", "logout_token")
	}
	ended, err := provider.Ended(r.Context(), token)
	if fault.Is(err, fault.Auth) {
		return oauthError(w, http.StatusBadRequest, "invalid_request", err.Error())
	}
	if err != nil {
		return err
	}
	n, err := s.o.Store.EndSessions(r.Context(), ended.Issuer, ended.Subject, ended.Session)
	if err != nil {
		return err
	}
	s.o.Log.Info("the identity provider has ended sessions", "issuer", ended.Issuer, "sessions", n)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
	return nil
}
