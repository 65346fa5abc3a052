// Package signin tells the App Server who its callers are: programs with API keys, browsers
// that signed in with a code, which the server's owner gets on the terminal, people who
// proved who they are at an identity provider, and clients with the session key of a sandbox. A
// program without a key gets one when a person who is signed in allows it.
//
// # Usage
//
//	s := signin.New(signin.Options{Store: store})
//	code, err := s.NewCode(ctx, owner)        // for a link that signs in once
//	caller, err := s.Authenticate(r)          // for rest.Options
//	routes := s.Routes()
//
// # Concurrency and failure
//
// A Service is safe for concurrent use. Secrets are stored as hashes and shown once.
// Unknown, used or expired credentials are an error of kind Auth.
package signin

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/internal/cookies"
	"github.com/deft-dev/deft/internal/ratelimit"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/appserver/store"
	"github.com/deft-dev/deft/server/rest"
)

// Times of credentials.
const (
	codeTime   = 15 * time.Minute
	cookieTime = 30 * 24 * time.Hour
	// usedEvery is how often the time of a credential's last use is written.
	usedEvery = time.Minute
)

// Of an address, attempts to sign in are heard at once, and then one each attemptEvery.
const (
	attempts     = 20
	attemptEvery = 3 * time.Second
)

// keyPrefix begins API keys, so that they are recognized where they should not be.
const keyPrefix = "deft_"

// Options configure a Service. All but SignOn are required.
type Options struct {
	Store *store.Store
	// Secure reports whether a request came over HTTPS, at the server or at its proxy.
	Secure func(r *http.Request) bool
	// Peer returns the address of a request's client, beyond proxies that are trusted.
	Peer func(r *http.Request) netip.Addr
	// URL is where browsers reach the server, whatever host a proxy names; "" for the host
	// that they name.
	URL string
	// Base is where the client of a request reaches the server, without a last slash.
	Base func(r *http.Request) string
	// SignOn has people sign in at an identity provider; the zero value for nobody.
	SignOn SignOn
	Log    *slog.Logger
}

// Service has the routes, and authenticates requests.
type Service struct {
	o        Options
	attempts *ratelimit.Limiter // to sign in, by address
	polls    *ratelimit.Limiter // of programs that wait, by address
	pages    *http.CrossOriginProtection

	mu   sync.Mutex
	used map[string]time.Time // when the use of a credential was written, by id
}

// New returns a service.
func New(o Options) *Service {
	s := &Service{o: o, attempts: ratelimit.New(attempts, attemptEvery), polls: ratelimit.New(polls, pollEvery), pages: http.NewCrossOriginProtection(), used: map[string]time.Time{}}
	if u, err := url.Parse(o.URL); err == nil && u.Host != "" {
		if err := s.pages.AddTrustedOrigin(u.Scheme + "://" + u.Host); err != nil {
			o.Log.Warn("pages at the public address are known by the Host header only", "err", err)
		}
	}
	return s
}

// Routes returns the operations.
func (s *Service) Routes() []rest.Route {
	return slices.Concat(s.deviceRoutes(), s.providerRoutes(), s.sessionRoutes(), []rest.Route{
		{Method: "POST", Path: "/api/v1/login", Tag: "Authentication", Scope: rest.Public, Limit: 4 << 10, Audited: true, Handle: s.login},
		{Method: "POST", Path: "/api/logout", Tag: "Authentication", Scope: rest.Account, Handle: s.logout},
	})
}

func newSecret() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// add stores a credential, which gets its id and times, and returns its secret. One that never
// expires lasts 0.
func (s *Service) add(ctx context.Context, c store.Credential, prefix string, lasts time.Duration) (store.Credential, string, error) {
	c.ID, c.Created = event.NewConversationID().Hex(), time.Now()
	if lasts > 0 {
		c.Expires = c.Created.Add(lasts)
	}
	secret := prefix + newSecret()
	return c, secret, s.o.Store.AddCredential(ctx, c, secret)
}

// NewCode returns a code that signs a browser in, once and soon.
func (s *Service) NewCode(ctx context.Context, owner identity.Tenant) (string, error) {
	if err := s.o.Store.DeleteExpired(ctx, time.Now()); err != nil {
		return "", err
	}
	_, secret, err := s.add(ctx, store.Credential{Owner: string(owner), Kind: store.Code}, "", codeTime)
	return secret, err
}

// NewKey makes an API key and returns it; it cannot be shown again. A key that never
// expires lasts 0.
func (s *Service) NewKey(ctx context.Context, owner identity.Tenant, name string, lasts time.Duration) (store.Credential, string, error) {
	return s.add(ctx, store.Credential{Owner: string(owner), Kind: store.APIKey, Name: name}, keyPrefix, lasts)
}

// Keys returns the API keys of an owner, without their secrets.
func (s *Service) Keys(ctx context.Context, owner identity.Tenant) ([]store.Credential, error) {
	return s.o.Store.Credentials(ctx, string(owner), store.APIKey)
}

// DeleteKey revokes an API key. NotFound if there is none.
func (s *Service) DeleteKey(ctx context.Context, owner identity.Tenant, id string) error {
	return s.o.Store.DeleteCredential(ctx, string(owner), id)
}

// KeyOf returns the secret that a request carries in a header, "" for none: as a bearer
// token, or in one of the headers that OpenHands' clients use.
func KeyOf(r *http.Request) string {
	if scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(token)
	}
	for _, name := range []string{"X-Access-Token", rest.KeyHeader} {
		if v := r.Header.Get(name); v != "" {
			return v
		}
	}
	return ""
}

// Authenticate returns who sends a request. A key in a header counts before a cookie, even
// a wrong one. With a cookie, only pages of this server may ask for a change. Without
// credentials, or with wrong ones, the error is of kind Auth.
func (s *Service) Authenticate(r *http.Request) (identity.Caller, error) {
	method, secret := identity.APIKey, KeyOf(r)
	kind := store.APIKey
	if secret == "" {
		c, err := r.Cookie(s.cookieName(r))
		if err != nil {
			return identity.Caller{}, fault.New(fault.Auth, "not signed in").Hint(s.signInHint())
		}
		if err := s.pages.Check(r); err != nil {
			return identity.Caller{}, fault.New(fault.Denied, "a page of another origin may not do this")
		}
		method, kind, secret = identity.Cookie, store.Cookie, c.Value
	}
	now := time.Now()
	c, err := s.o.Store.Credential(r.Context(), secret, now)
	if key := r.Header.Get(rest.KeyHeader); key != "" && fault.Is(err, fault.Auth) {
		return s.inSandbox(r, key, err)
	}
	if err != nil {
		return identity.Caller{}, err
	}
	if c.Kind != kind {
		return identity.Caller{}, fault.New(fault.Auth, "the key is unknown, or no longer valid")
	}
	s.noteUse(r.Context(), c.ID, now)
	caller := identity.Local()
	caller.User, caller.Method, caller.Credential = identity.User(c.Owner), method, c.ID
	return caller, nil
}

func (s *Service) signInHint() string {
	if s.o.SignOn.Provider != nil {
		return "sign in with " + s.o.SignOn.Name + ", or send an API key as a bearer token"
	}
	return "open the link that `deft serve` printed, or send an API key as a bearer token"
}

// inSandbox returns the client of a sandbox by its session key, or an error for a key that
// is none.
func (s *Service) inSandbox(r *http.Request, key string, unknown error) (identity.Caller, error) {
	b, err := s.o.Store.SandboxOfKey(r.Context(), key)
	if fault.Is(err, fault.Auth) {
		err = unknown
	}
	if err != nil {
		return identity.Caller{}, err
	}
	if key == b.BrowserKey() {
		return identity.OfSandbox(identity.Tenant(b.Owner), b.ID), nil
	}
	return identity.InSandbox(identity.Tenant(b.Owner), b.ID), nil
}

// noteUse writes when a credential was used, now and then.
func (s *Service) noteUse(ctx context.Context, id string, now time.Time) {
	s.mu.Lock()
	due := now.Sub(s.used[id]) >= usedEvery
	if due {
		s.used[id] = now
	}
	s.mu.Unlock()
	if !due {
		return
	}
	if err := s.o.Store.UsedCredential(ctx, id, now); err != nil {
		s.o.Log.Warn("the use of a key could not be noted", "key", id, "err", err)
	}
}

// cookieName is the cookie of the browser's session.
func (s *Service) cookieName(r *http.Request) string { return s.named(r, cookies.Session) }

// named is the name of a cookie. With HTTPS the prefix makes browsers refuse one that another
// host of the site, or plain HTTP, has set.
func (s *Service) named(r *http.Request, cookie string) string {
	if s.o.Secure(r) {
		return "__Host-" + cookie
	}
	return cookie
}

var loginForm = &schema.Object{Name: "Login", Fields: []schema.Field{{Name: "code", Type: schema.String{}, Required: true}}}

// login takes a code, and gives the browser a session.
func (s *Service) login(w http.ResponseWriter, r *http.Request) error {
	if err := s.pages.Check(r); err != nil {
		return rest.Fail(http.StatusForbidden, "a page of another origin may not sign in")
	}
	if wait := s.attempts.Take(ratelimit.Network(s.o.Peer(r)), time.Now()); wait > 0 {
		return rest.TooMany(w, wait)
	}
	var req struct {
		Code string `json:"code"`
	}
	if err := rest.Read(r, loginForm, &req); err != nil {
		return err
	}
	c, err := s.o.Store.TakeCode(r.Context(), req.Code, time.Now())
	if err != nil {
		return err
	}
	if err := s.startSession(w, r, store.Credential{Owner: c.Owner}, cookieTime); err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// logout ends the browser's session.
func (s *Service) logout(w http.ResponseWriter, r *http.Request) error {
	caller := identity.CallerOf(r.Context())
	if caller.Method == identity.Cookie {
		if err := s.o.Store.DeleteCredential(r.Context(), string(caller.User), caller.Credential); err != nil && !fault.Is(err, fault.NotFound) {
			return err
		}
	}
	http.SetCookie(w, s.cookie(r, "", -1))
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Service) cookie(r *http.Request, value string, seconds int) *http.Cookie {
	return &http.Cookie{
		Name: s.cookieName(r), Value: value, Path: "/", MaxAge: seconds,
		HttpOnly: true, Secure: s.o.Secure(r), SameSite: http.SameSiteStrictMode,
	}
}
