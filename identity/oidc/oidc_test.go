package oidc_test

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/identity/oidc"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/oidctest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var flow = identity.Flow{State: "the-state", Nonce: "the-nonce", Verifier: strings.Repeat("v", 43), Redirect: "https://deft.example/back"}

// ann are the claims of a person.
func ann() oidctest.Claims {
	return oidctest.Claims{"sub": "ann-1", "email": "ann@example.org", "email_verified": true, "name": "Ann", "groups": []string{"dev", "ops"}, "sid": "s-1"}
}

func open(t *testing.T, p *oidctest.Provider) *oidc.Provider {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return oidc.New(oidc.Options{Issuer: p.URL, ClientID: oidctest.ClientID, Secret: oidctest.Secret, Scopes: []string{"openid", "email"}, Transport: transport})
}

func TestSignIn(t *testing.T) {
	t.Parallel()
	p := oidctest.Start(t)
	o := open(t, p)
	for range 2 { // the second time with another key
		address, err := o.Begin(t.Context(), flow)
		must.Succeed(t, err)
		if u, err := url.Parse(address); err != nil || u.Query().Get("scope") != "openid email" {
			t.Fatalf("the browser goes to %s", address)
		}
		got, err := o.Finish(t.Context(), flow, p.SignIn(t, address, ann()).Query())
		must.Succeed(t, err)
		want := identity.Person{Issuer: p.URL, Subject: "ann-1", Email: "ann@example.org", EmailVerified: true, Name: "Ann", Groups: []string{"dev", "ops"}, Session: "s-1"}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
		p.Rotate(t)
	}
}

// TestRefusals tries answers that prove nothing.
func TestRefusals(t *testing.T) {
	t.Parallel()
	unsigned := func(c oidctest.Claims) string {
		raw, _ := json.Marshal(c)
		return base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + "." + base64.RawURLEncoding.EncodeToString(raw) + "."
	}
	shared := func(c oidctest.Claims) string { // signed with the client's secret, as if it were a key
		s, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.HS256, Key: []byte(strings.Repeat(oidctest.Secret, 3))}, nil)
		if err != nil {
			return err.Error()
		}
		raw, _ := json.Marshal(c)
		signed, err := s.Sign(raw)
		if err != nil {
			return err.Error()
		}
		text, _ := signed.CompactSerialize()
		return text
	}
	for name, c := range map[string]struct {
		kind   fault.Kind
		change func(oidctest.Claims)
		forge  func(oidctest.Claims) string
		answer func(url.Values)
		flow   func(*identity.Flow)
	}{
		"another issuer":               {kind: fault.Auth, change: func(c oidctest.Claims) { c["iss"] = "https://evil.example" }},
		"another audience":             {kind: fault.Auth, change: func(c oidctest.Claims) { c["aud"] = "shop" }},
		"two audiences without party":  {kind: fault.Auth, change: func(c oidctest.Claims) { c["aud"] = []string{oidctest.ClientID, "shop"} }},
		"another party":                {kind: fault.Auth, change: func(c oidctest.Claims) { c["azp"] = "shop" }},
		"expired before the skew":      {kind: fault.Auth, change: func(c oidctest.Claims) { c["exp"] = time.Now().Add(-2 * time.Minute).Unix() }},
		"another nonce":                {kind: fault.Auth, change: func(c oidctest.Claims) { c["nonce"] = "other" }},
		"no nonce":                     {kind: fault.Auth, change: func(c oidctest.Claims) { delete(c, "nonce") }},
		"no subject":                   {kind: fault.Auth, change: func(c oidctest.Claims) { delete(c, "sub") }},
		"an access token's other hash": {kind: fault.Auth, change: func(c oidctest.Claims) { c["at_hash"] = "x" }},
		"no signature":                 {kind: fault.Auth, forge: unsigned},
		"a signature with a secret":    {kind: fault.Auth, forge: shared},
		"no token":                     {kind: fault.Auth, forge: func(oidctest.Claims) string { return "x.y.z" }},
		"a code of nobody":             {kind: fault.Auth, answer: func(q url.Values) { q.Set("code", "other") }},
		"no code":                      {kind: fault.Auth, answer: func(q url.Values) { q.Del("code") }},
		"another issuer's answer":      {kind: fault.Auth, answer: func(q url.Values) { q.Set("iss", "https://evil.example") }},
		"an answer without issuer":     {kind: fault.Auth, answer: func(q url.Values) { q.Del("iss") }},
		"a refusal":                    {kind: fault.Denied, answer: func(q url.Values) { q.Set("error", "access_denied") }},
		"another verifier":             {kind: fault.Auth, flow: func(f *identity.Flow) { f.Verifier = strings.Repeat("w", 43) }},
		"another redirect address":     {kind: fault.Auth, flow: func(f *identity.Flow) { f.Redirect = "https://deft.example/other" }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := oidctest.Start(t)
			p.NamesItself, p.Change, p.Forge = true, c.change, c.forge
			o := open(t, p)
			address, err := o.Begin(t.Context(), flow)
			must.Succeed(t, err)
			q := p.SignIn(t, address, ann()).Query()
			if c.answer != nil {
				c.answer(q)
			}
			f := flow
			if c.flow != nil {
				c.flow(&f)
			}
			_, err = o.Finish(t.Context(), f, q)
			if fault.KindOf(err) != c.kind {
				t.Errorf("%v (%s), want %s", err, fault.KindOf(err), c.kind)
			}
			if err != nil && (strings.Contains(err.Error(), q.Get("code")) && q.Get("code") != "" || strings.Contains(err.Error(), oidctest.Secret)) {
				t.Errorf("the error has a secret: %v", err)
			}
		})
	}
}

// TestClaims reads claims as providers send them.
func TestClaims(t *testing.T) {
	t.Parallel()
	many := make([]string, 30_000)
	for i := range many {
		many[i] = "group"
	}
	for name, c := range map[string]struct {
		claims oidctest.Claims
		want   func(identity.Person) bool
	}{
		"verified as a text":       {oidctest.Claims{"email_verified": "true"}, func(p identity.Person) bool { return p.EmailVerified }},
		"not verified":             {oidctest.Claims{"email_verified": "false"}, func(p identity.Person) bool { return !p.EmailVerified }},
		"one group":                {oidctest.Claims{"groups": "dev"}, func(p identity.Person) bool { return cmp.Equal(p.Groups, []string{"dev"}) }},
		"groups of another form":   {oidctest.Claims{"groups": map[string]any{"a": 1}}, func(p identity.Person) bool { return len(p.Groups) == 0 }},
		"very many groups":         {oidctest.Claims{"groups": many}, func(p identity.Person) bool { return len(p.Groups) == 20_000 }},
		"no name":                  {oidctest.Claims{"name": "", "preferred_username": "ann"}, func(p identity.Person) bool { return p.Name == "ann" }},
		"a clock half a minute on": {oidctest.Claims{"exp": time.Now().Add(-30 * time.Second).Unix()}, func(p identity.Person) bool { return p.Subject == "ann-1" }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := oidctest.Start(t)
			p.Change = func(all oidctest.Claims) {
				maps.Copy(all, c.claims)
			}
			o := open(t, p)
			address, err := o.Begin(t.Context(), flow)
			must.Succeed(t, err)
			got, err := o.Finish(t.Context(), flow, p.SignIn(t, address, ann()).Query())
			must.Succeed(t, err)
			if !c.want(got) {
				t.Errorf("%.300v", got)
			}
		})
	}
}

// TestAway tries a provider that does not answer, and comes back.
func TestAway(t *testing.T) {
	t.Parallel()
	p := oidctest.Start(t)
	o := open(t, p)
	p.Away(true)
	if _, err := o.Begin(t.Context(), flow); !fault.Is(err, fault.Unavailable) || fault.HintOf(err) == "" {
		t.Fatalf("a provider that is away: %v", err)
	}
	p.Away(false)
	address, err := o.Begin(t.Context(), flow)
	must.Succeed(t, err)
	answer := p.SignIn(t, address, ann()).Query()
	p.Away(true)
	if _, err := o.Finish(t.Context(), flow, answer); !fault.Is(err, fault.Unavailable) {
		t.Fatalf("a provider that goes away in the middle: %v", err)
	}
}

// TestCheck names the mistakes of a provider.
func TestCheck(t *testing.T) {
	t.Parallel()
	p := oidctest.Start(t)
	must.Succeed(t, open(t, p).Check(t.Context()))
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }))
	t.Cleanup(page.Close)
	for issuer, says := range map[string]string{
		p.URL + "/":             "calls itself " + p.URL,
		page.URL:                "does not answer as it should",
		"http://127.0.0.1:1":    "connection refused",
		"http://id.invalid/x/y": "id.invalid",
	} {
		transport := &http.Transport{}
		t.Cleanup(transport.CloseIdleConnections)
		err := oidc.New(oidc.Options{Issuer: issuer, ClientID: "x", Transport: transport}).Check(t.Context())
		if !fault.Is(err, fault.Unavailable) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", issuer, err, says)
		}
	}
}

// TestEnded reads messages that sessions have ended.
func TestEnded(t *testing.T) {
	t.Parallel()
	p := oidctest.Start(t)
	o := open(t, p)
	got, err := o.Ended(t.Context(), p.Ended(t, oidctest.Claims{"sub": "ann-1", "sid": "s-1"}))
	must.Succeed(t, err)
	if want := (identity.Ended{Issuer: p.URL, Subject: "ann-1", Session: "s-1"}); got != want {
		t.Errorf("%v", got)
	}
	for name, claims := range map[string]oidctest.Claims{
		"nobody":           {},
		"an ID token":      {"sub": "ann-1", "nonce": "n"},
		"another client":   {"sub": "ann-1", "aud": "shop"},
		"another issuer":   {"sub": "ann-1", "iss": "https://evil.example"},
		"another event":    {"sub": "ann-1", "events": map[string]any{"x": 1}},
		"expired long ago": {"sub": "ann-1", "exp": time.Now().Add(-time.Hour).Unix()},
	} {
		if got, err := o.Ended(t.Context(), p.Ended(t, claims)); !fault.Is(err, fault.Auth) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}
