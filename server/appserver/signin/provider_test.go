package signin_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/identity/oidc"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/oidctest"
	"github.com/deft-dev/deft/server/appserver/signin"
	"github.com/deft-dev/deft/server/appserver/store"
	"github.com/deft-dev/deft/server/rest"
)

// signOn is a server at which people sign in.
type signOn struct {
	t        *testing.T
	provider *oidctest.Provider
	store    *store.Store
	url      string
}

func startSignOn(t *testing.T, a identity.Admission) *signOn {
	t.Helper()
	kept := openStore(t)
	p := oidctest.Start(t)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	var addresses atomic.Uint32
	service := signin.New(signin.Options{
		Store: kept, Secure: func(*http.Request) bool { return false }, Log: slog.New(slog.DiscardHandler),
		Peer: func(*http.Request) netip.Addr { // no test meets the limit of an address
			return netip.AddrFrom4([4]byte{10, 0, byte(addresses.Add(1)), 1})
		},
		Base: func(r *http.Request) string { return "http://" + r.Host },
		SignOn: signin.SignOn{
			Name: "Example", Admission: a, SessionTime: time.Hour,
			Provider: oidc.New(oidc.Options{Issuer: p.URL, ClientID: oidctest.ClientID, Secret: oidctest.Secret, Transport: transport}),
		},
	})
	h, err := rest.New(rest.Options{Routes: service.Routes(), Authenticate: service.Authenticate})
	must.Succeed(t, err)
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return &signOn{t, p, kept, s.URL}
}

// browser is the browser of a person.
type browser struct {
	s      *signOn
	client *http.Client
}

func (s *signOn) browser() *browser {
	s.t.Helper()
	jar, err := cookiejar.New(nil)
	must.Succeed(s.t, err)
	transport := &http.Transport{}
	s.t.Cleanup(transport.CloseIdleConnections)
	return &browser{s, &http.Client{Jar: jar, Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// do sends a request, and returns the status, the address to which the browser is sent and the body.
func (b *browser) do(method, address string, form url.Values) (status int, location string, body string) {
	b.s.t.Helper()
	if strings.HasPrefix(address, "/") {
		address = b.s.url + address
	}
	r, err := http.NewRequestWithContext(b.s.t.Context(), method, address, strings.NewReader(form.Encode()))
	must.Succeed(b.s.t, err)
	resp, err := b.client.Do(r)
	must.Succeed(b.s.t, err)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	must.Succeed(b.s.t, err)
	return resp.StatusCode, resp.Header.Get("Location"), string(raw)
}

// start goes to the provider, and comes back to the address that is returned.
func (b *browser) start(to string, claims oidctest.Claims) string {
	b.s.t.Helper()
	status, address, body := b.do("GET", "/api/v1/sign-in/start?to="+url.QueryEscape(to), nil)
	if status != http.StatusFound {
		b.s.t.Fatalf("start: %d %s", status, body)
	}
	return b.s.provider.SignIn(b.s.t, address, claims).String()
}

// end comes back from the provider, and returns the page that is shown then.
func (b *browser) end(back string) string {
	b.s.t.Helper()
	status, page, body := b.do("GET", back, nil)
	if status != http.StatusFound {
		b.s.t.Fatalf("callback: %d %s", status, body)
	}
	return page
}

// account is who the browser is signed in as; the zero value for nobody.
func (b *browser) account() (out struct{ ID, Name, Email, Issuer string }) {
	b.s.t.Helper()
	status, _, body := b.do("GET", "/api/v1/account", nil)
	if status == http.StatusUnauthorized {
		return out
	}
	if status != http.StatusOK {
		b.s.t.Fatalf("account: %d %s", status, body)
	}
	must.Succeed(b.s.t, json.Unmarshal([]byte(body), &out))
	return out
}

func claims(subject string) oidctest.Claims {
	return oidctest.Claims{"sub": subject, "name": "Person " + subject, "email": subject + "@example.org", "email_verified": true, "groups": []string{"/dev"}, "sid": "session of " + subject}
}

func TestSignOn(t *testing.T) {
	t.Parallel()
	s := startSignOn(t, identity.Admission{Domains: []string{"example.org"}, Groups: []string{"dev"}})
	ann, bob := s.browser(), s.browser()
	if page := ann.end(ann.start("/conversations/1?x=2", claims("ann"))); page != "/conversations/1?x=2" {
		t.Errorf("Ann is sent to %q", page)
	}
	bob.end(bob.start("", claims("bob")))
	a, b := ann.account(), bob.account()
	if a.Name != "Person ann" || a.Email != "ann@example.org" || a.Issuer != s.provider.URL || a.ID == "" || a.ID == b.ID || b.Name != "Person bob" {
		t.Errorf("the accounts are %v and %v", a, b)
	}
	// The same person from another browser, with another address, is the same user.
	c := claims("ann")
	c["email"] = "ann.b@example.org"
	second := s.browser()
	second.end(second.start("/", c))
	if got := second.account(); got.ID != a.ID || got.Email != "ann.b@example.org" {
		t.Errorf("Ann's other browser is of %v", got)
	}
}

// TestTargets sends a browser to pages of the server only.
func TestTargets(t *testing.T) {
	t.Parallel()
	s := startSignOn(t, identity.Admission{})
	for to, want := range map[string]string{
		"/a?b=c#d": "/a?b=c#d", "": "/", "https://evil.example/": "/", "//evil.example": "/", "/\\evil.example": "/", "/\t/evil.example": "/",
		"\\\\evil.example": "/", "javascript:alert(1)": "/", "/" + strings.Repeat("x", 3000): "/", "http:evil.example": "/", "evil": "/", "/%zz": "/",
	} {
		b := s.browser()
		if page := b.end(b.start(to, claims("ann"))); page != want {
			t.Errorf("%q sends the browser to %q, want %q", to, page, want)
		}
	}
}

// TestAttacks tries to sign somebody in who did not prove who he is, or where he does not want it.
func TestAttacks(t *testing.T) {
	t.Parallel()
	s := startSignOn(t, identity.Admission{})
	refused := func(name, page, want string, b *browser) {
		t.Helper()
		if page != "/#sign-in="+want || b.account().ID != "" {
			t.Errorf("%s: sent to %q, signed in as %v", name, page, b.account())
		}
	}
	mallory, ann := s.browser(), s.browser()
	back := mallory.start("/", claims("mallory"))
	refused("login CSRF: another browser's answer", ann.end(back), "ended", ann)
	ann.start("/", claims("ann"))
	refused("login CSRF: another browser's answer in a sign-in", ann.end(back), "ended", ann)
	mallory.end(back)
	if mallory.account().ID == "" {
		t.Fatal("the attacker's own sign-in does not work: the test tests nothing")
	}
	again := s.browser()
	again.client.Jar = mallory.client.Jar
	if page := again.end(back); page != "/#sign-in=ended" {
		t.Errorf("a replayed answer: %q", page)
	}

	// An answer with the code of another sign-in (code injection): the verifier is another one.
	one, two := s.browser(), s.browser()
	first, second := one.start("/", claims("ann")), two.start("/", claims("mallory"))
	u, err := url.Parse(second)
	must.Succeed(t, err)
	stolen, err := url.Parse(first)
	must.Succeed(t, err)
	q := u.Query()
	q.Set("code", stolen.Query().Get("code"))
	u.RawQuery = q.Encode()
	refused("another sign-in's code", two.end(u.String()), "ended", two)

	three := s.browser()
	refused("the person refuses", three.end(strings.Replace(three.start("/", claims("ann")), "code=", "error=access_denied&x=", 1)), "denied", three)
	three = s.browser()
	refused("no state", three.end("/api/v1/sign-in/callback?code=x"), "ended", three)

	// A session that the attacker has put into the browser ends when the victim signs in.
	victim := s.browser()
	victim.client.Jar = mallory.client.Jar
	before, err := url.Parse(s.url)
	must.Succeed(t, err)
	fixed := sessionOf(mallory.client.Jar.Cookies(before))
	victim.end(victim.start("/", claims("victim")))
	if now := sessionOf(victim.client.Jar.Cookies(before)); now == fixed || now == "" {
		t.Error("the browser keeps its session at sign-in")
	}
	old := s.browser()
	old.client.Jar.SetCookies(before, []*http.Cookie{{Name: "deft_session", Value: fixed, Path: "/"}})
	if got := old.account(); got.ID != "" {
		t.Errorf("the session before the sign-in still works, for %v", got)
	}
}

func sessionOf(all []*http.Cookie) string {
	for _, c := range all {
		if c.Name == "deft_session" {
			return c.Value
		}
	}
	return ""
}

func TestTabs(t *testing.T) {
	t.Parallel()
	s := startSignOn(t, identity.Admission{})
	b := s.browser()
	one, two := b.start("/one", claims("ann")), b.start("/two", claims("ann"))
	if pages := []string{b.end(one), b.end(two)}; !cmp.Equal(pages, []string{"/one", "/two"}) {
		t.Errorf("two tabs of one browser come to %q", pages)
	}
}

func TestUnavailable(t *testing.T) {
	t.Parallel()
	s := startSignOn(t, identity.Admission{})
	b := s.browser()
	s.provider.Away(true)
	if _, page, _ := b.do("GET", "/api/v1/sign-in/start", nil); page != "/#sign-in=unavailable" {
		t.Errorf("a provider that is away sends the browser to %q", page)
	}
	s.provider.Away(false)
	b.end(b.start("/", claims("ann")))
	s.provider.Away(true)
	if b.account().ID == "" {
		t.Error("a session ends with the provider's answers")
	}
}

// TestEndedSessions has the provider end sessions, and a person end her own.
func TestEndedSessions(t *testing.T) {
	t.Parallel()
	s := startSignOn(t, identity.Admission{})
	ended := func(token string, want int) {
		t.Helper()
		b := s.browser()
		if status, _, body := b.do("POST", "/api/v1/sign-in/ended", url.Values{"logout_token": {token}}); status != want {
			t.Errorf("a message of the provider: %d %s, want %d", status, body, want)
		}
	}
	ann, bob := s.browser(), s.browser()
	ann.end(ann.start("/", claims("ann")))
	bob.end(bob.start("/", claims("bob")))
	ended(s.provider.Ended(t, oidctest.Claims{"sub": "ann"}), http.StatusOK)
	if ann.account().ID != "" || bob.account().ID == "" {
		t.Errorf("after the end of Ann's sessions: %v, %v", ann.account(), bob.account())
	}
	ended(s.provider.Ended(t, oidctest.Claims{"sid": "session of bob"}), http.StatusOK)
	if bob.account().ID != "" {
		t.Error("Bob's session has not ended")
	}
	ended("", http.StatusUnprocessableEntity)
	ended("x.y.z", http.StatusBadRequest)
	other := oidctest.Start(t)
	ended(other.Ended(t, oidctest.Claims{"sub": "ann"}), http.StatusBadRequest)

	// A person's sessions, one of which she ends, and then all others.
	var all []*browser
	for range 3 {
		b := s.browser()
		b.end(b.start("/", claims("ann")))
		all = append(all, b)
	}
	bob.end(bob.start("/", claims("bob")))
	list := func(b *browser) (ids []string, current int) {
		t.Helper()
		_, _, body := b.do("GET", "/api/v1/sessions", nil)
		var found []struct {
			ID      string
			Current bool
			Device  string
		}
		must.Succeed(t, json.Unmarshal([]byte(body), &found))
		current = -1
		for i, one := range found {
			if ids = append(ids, one.ID); one.Current {
				current = i
			}
			if one.Device == "" {
				t.Errorf("a session without a device: %s", body)
			}
		}
		return ids, current
	}
	ids, current := list(all[0])
	if len(ids) != 3 || current != 0 {
		t.Fatalf("Ann has %v, this is the one at %d", ids, current)
	}
	if status, _, _ := bob.do("DELETE", "/api/v1/sessions/"+ids[1], nil); status != http.StatusNotFound {
		t.Errorf("Bob ends Ann's session: %d", status)
	}
	if status, _, body := all[0].do("DELETE", "/api/v1/sessions/"+ids[1], nil); status != http.StatusNoContent {
		t.Errorf("Ann ends her session: %d %s", status, body)
	}
	if all[1].account().ID != "" || all[2].account().ID == "" {
		t.Error("another session has ended than the one that was named")
	}
	all[0].do("DELETE", "/api/v1/sessions", nil)
	if all[0].account().ID == "" || all[2].account().ID != "" || bob.account().ID == "" {
		t.Error("the end of all other sessions ends other ones")
	}
}

func TestAdmission(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		a       identity.Admission
		change  oidctest.Claims
		refused bool
	}{
		"everybody":                 {},
		"the domain":                {a: identity.Admission{Domains: []string{"Example.org"}}},
		"another domain":            {a: identity.Admission{Domains: []string{"example.com"}}, refused: true},
		"a domain that is a part":   {a: identity.Admission{Domains: []string{"ample.org"}}, refused: true},
		"an unverified address":     {a: identity.Admission{Domains: []string{"example.org"}}, change: oidctest.Claims{"email_verified": false}, refused: true},
		"no address":                {a: identity.Admission{Domains: []string{""}}, change: oidctest.Claims{"email": ""}, refused: true},
		"a user of no domain":       {a: identity.Admission{Domains: []string{"example.com"}, Users: []string{"ANN@example.org"}}},
		"another user":              {a: identity.Admission{Users: []string{"bob@example.org"}}, refused: true},
		"the group":                 {a: identity.Admission{Groups: []string{"ops", "dev"}}},
		"no group":                  {a: identity.Admission{Groups: []string{"ops"}}, refused: true},
		"the group, not the domain": {a: identity.Admission{Groups: []string{"dev"}, Domains: []string{"example.com"}}, refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startSignOn(t, c.a)
			who := claims("ann")
			maps.Copy(who, c.change)
			b := s.browser()
			page := b.end(b.start("/x", who))
			if refused := page == "/#sign-in=denied" && b.account().ID == ""; refused != c.refused {
				t.Errorf("refused %t: sent to %q as %v", refused, page, b.account())
			}
		})
	}
}
