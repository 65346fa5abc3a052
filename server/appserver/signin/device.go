package signin

import (
	"cmp"
	"context"
	"crypto/rand"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/internal/ratelimit"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/appserver/store"
	"github.com/deft-dev/deft/server/rest"
)

// A program that has no key signs in by the device flow (RFC 8628): it gets two codes, shows
// one to the person, or opens a page with it, and asks with the other one until the person has
// allowed it.

// Times of the flow.
const (
	deviceTime = 10 * time.Minute
	// deviceEvery is how often a program may ask. Its clock and the network may be a second off.
	deviceEvery = 5 * time.Second
	deviceEarly = deviceEvery - time.Second
	// deviceKeyTime is how long the key is valid.
	deviceKeyTime = cookieTime
)

// Of an address, questions of waiting programs are heard at once, and then one each pollEvery.
const (
	polls     = 60
	pollEvery = time.Second
)

// devicePage is the page of the web app where a person allows a program.
const devicePage = "/device"

// codeLetters are the letters of the code that people read: no vowels, so no words
// (RFC 8628 section 6.1). 20 letters and 8 places make 34 bits.
const (
	codeLetters = "BCDFGHJKLMNPQRSTVWXZ"
	codeLength  = 8
)

func (s *Service) deviceRoutes() []rest.Route {
	const tag, limit = "Authentication", 4 << 10
	return []rest.Route{
		{Method: "POST", Path: "/oauth/device/authorize", Tag: tag, Scope: rest.Public, Limit: limit, Handle: s.beginDevice},
		{Method: "POST", Path: "/oauth/device/token", Tag: tag, Scope: rest.Public, Limit: limit, Handle: s.askDevice},
		{Method: "POST", Path: "/oauth/device/verify-authenticated", Tag: tag, Scope: rest.Account, Limit: limit, Audited: true, Handle: rest.Value(s.allowDevice)},
	}
}

// newUserCode returns a code for people, and how it is shown.
func newUserCode() (code, shown string) {
	var out []byte
	for len(out) < codeLength {
		var b [1]byte
		_, _ = rand.Read(b[:])         // never fails
		if n := int(b[0]); n < 12*20 { // so that no letter is more frequent
			out = append(out, codeLetters[n%20])
		}
	}
	return string(out), string(out[:4]) + "-" + string(out[4:])
}

// readUserCode is the code in what a person has typed.
func readUserCode(typed string) string {
	return strings.Map(func(c rune) rune {
		if c == '-' || c == ' ' {
			return -1
		}
		return c
	}, strings.ToUpper(strings.TrimSpace(typed)))
}

func (s *Service) beginDevice(w http.ResponseWriter, r *http.Request) error {
	if wait := s.attempts.Take(ratelimit.Network(s.o.Peer(r)), time.Now()); wait > 0 {
		return rest.TooMany(w, wait)
	}
	code, shown := newUserCode()
	secret, now := newSecret(), time.Now()
	err := s.o.Store.AddDevice(r.Context(), store.Credential{
		ID: store.Hash(code), Kind: store.Device, Name: sender(r), Created: now, Expires: now.Add(deviceTime),
	}, secret)
	if err != nil {
		return err
	}
	page := s.o.Base(r) + devicePage
	w.Header().Set("Cache-Control", "no-store")
	return rest.JSON(w, http.StatusOK, map[string]any{
		"device_code": secret, "user_code": shown, "verification_uri": page, "verification_uri_complete": page + "?user_code=" + shown,
		"expires_in": int(deviceTime / time.Second), "interval": int(deviceEvery / time.Second),
	})
}

// sender names the program of a request, for the list of keys: the page that sent it, or its
// own name.
func sender(r *http.Request) string {
	return "device: " + cmp.Or(shortened(cmp.Or(r.Header.Get("Origin"), r.UserAgent())), "without a name")
}

// shortened bounds a text of a header.
func shortened(text string) string {
	name := strings.ToValidUTF8(text, "")
	if utf8.RuneCountInString(name) > 200 {
		name = string([]rune(name)[:200])
	}
	return name
}

// askDevice answers a program that waits: with its key, or why there is none, in the words of
// RFC 8628 section 3.5.
func (s *Service) askDevice(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Cache-Control", "no-store")
	now := time.Now()
	if wait := s.polls.Take(ratelimit.Network(s.o.Peer(r)), now); wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(wait/time.Second)+1))
		return oauthError(w, http.StatusTooManyRequests, "slow_down", "too many questions from this address")
	}
	form, err := readForm(r)
	if err != nil {
		return err
	}
	if grant := form.Get("grant_type"); grant != "" && grant != "urn:ietf:params:oauth:grant-type:device_code" {
		return oauthError(w, http.StatusBadRequest, "unsupported_grant_type", "only the device flow is supported")
	}
	secret := form.Get("device_code")
	if secret == "" {
		return schema.Missing("body", "device_code")
	}
	c, err := s.o.Store.AskDevice(r.Context(), secret, now)
	switch {
	case err == nil && !c.Used.IsZero() && now.Sub(c.Used) < deviceEarly:
		return oauthError(w, http.StatusBadRequest, "slow_down", "wait "+deviceEvery.String()+" between two questions")
	case err == nil && c.Owner == "":
		return oauthError(w, http.StatusBadRequest, "authorization_pending", "nobody has allowed the program yet")
	case err == nil:
		c, err = s.o.Store.TakeDevice(r.Context(), c.ID)
	}
	if fault.Is(err, fault.Auth) {
		return oauthError(w, http.StatusBadRequest, "expired_token", err.Error())
	}
	if err != nil {
		return err
	}
	key, err := s.keyOfDevice(r.Context(), c)
	if err != nil {
		return err
	}
	return rest.JSON(w, http.StatusOK, map[string]any{"access_token": key, "token_type": "Bearer", "expires_in": int(deviceKeyTime / time.Second)})
}

func (s *Service) keyOfDevice(ctx context.Context, c store.Credential) (string, error) {
	made, key, err := s.NewKey(ctx, identity.Tenant(c.Owner), c.Name, deviceKeyTime)
	if err == nil {
		s.o.Log.Info("a program was signed in", "owner", c.Owner, "key", made.ID, "name", c.Name)
	}
	return key, err
}

// allowDevice has a person allow the program that shows a code.
func (s *Service) allowDevice(r *http.Request) (any, error) {
	form, err := readForm(r)
	if err != nil {
		return nil, err
	}
	caller, now := identity.CallerOf(r.Context()), time.Now()
	if s.attempts.Take("codes of "+string(caller.User), now) > 0 {
		return nil, fault.New(fault.RateLimit, "too many codes were tried").Hint("try again in a minute")
	}
	code := readUserCode(form.Get("user_code"))
	if code == "" {
		return nil, schema.Missing("body", "user_code")
	}
	err = s.o.Store.AllowDevice(r.Context(), store.Hash(code), string(caller.Tenant()), now)
	if fault.Is(err, fault.NotFound) {
		return nil, rest.Fail(http.StatusBadRequest, "The code is unknown, was used, or is no longer valid")
	}
	if err != nil {
		return nil, err
	}
	return map[string]string{"message": "Device authorized successfully!"}, nil
}

// readForm reads the body of a request, a form as browsers send it.
func readForm(r *http.Request) (url.Values, error) {
	raw, err := rest.Raw(r)
	if err != nil {
		return nil, err
	}
	form, err := url.ParseQuery(string(raw))
	if err != nil {
		return nil, rest.Fail(http.StatusBadRequest, "There was an error parsing the body")
	}
	return form, nil
}

// oauthError answers in the form of RFC 6749 section 5.2.
func oauthError(w http.ResponseWriter, status int, code, why string) error {
	return rest.JSON(w, status, map[string]any{"error": code, "error_description": why})
}
