package appserver_test

import (
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/oidctest"
	"github.com/deft-dev/deft/internal/postgrestest"
)

// signOnEnv are the variables of a server at which people sign in.
func signOnEnv(p *oidctest.Provider) []string {
	return []string{"DEFT_AUTH_ISSUER=" + p.URL, "DEFT_AUTH_CLIENT_ID=" + oidctest.ClientID, "DEFT_AUTH_CLIENT_SECRET=" + oidctest.Secret, "DEFT_AUTH_ALLOWED_DOMAINS=example.org"}
}

// signOn signs a person in, and returns her browser and the page that it is sent to. The sign-in
// begins and ends at two servers.
func signOn(t *testing.T, p *oidctest.Provider, begun, ended *server, subject string) (c *client, page string) {
	t.Helper()
	jar, err := cookiejar.New(nil)
	must.Succeed(t, err)
	h := &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	t.Cleanup(h.CloseIdleConnections)
	visit := func(address string) string {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		must.Succeed(t, err)
		r.Host = strings.TrimPrefix(begun.url, "http://") // one name for both
		resp, err := h.Do(r)
		must.Succeed(t, err)
		must.Succeed(t, resp.Body.Close())
		if resp.StatusCode != http.StatusFound {
			t.Fatalf("%s: %s", address, resp.Status)
		}
		return resp.Header.Get("Location")
	}
	email := subject
	if !strings.Contains(email, "@") {
		email += "@example.org"
	}
	back := p.SignIn(t, visit(begun.url+"/api/v1/sign-in/start?to=/settings"), oidctest.Claims{"sub": subject, "email": email, "email_verified": true, "name": subject, "sid": "session of " + subject})
	return &client{http: h}, visit(strings.Replace(back.String(), begun.url, ended.url, 1))
}

// TestSignOn has people sign in at two servers on one database: a sign-in that begins at one server
// ends at the other, as a load balancer has it, and each person has an account of an own.
func TestSignOn(t *testing.T) {
	t.Parallel()
	p := oidctest.Start(t)
	o := options{database: postgrestest.URL(t), env: signOnEnv(p)}
	one, other := start(t, o), start(t, o)
	ann, page := signOn(t, p, one, other, "ann")
	bob, _ := signOn(t, p, one, one, "bob")
	if page != "/settings" {
		t.Errorf("Ann is sent to %q", page)
	}
	if eve, page := signOn(t, p, one, one, "eve@evil.example"); page != "/#sign-in=denied" {
		t.Errorf("Eve is sent to %q", page)
	} else if status, raw := eve.send(t, "GET", one.url+"/api/v1/account", nil); status != http.StatusUnauthorized || !strings.Contains(string(raw), "sign in with 127.0.0.1") {
		t.Errorf("Eve: %d %s", status, raw)
	}
	type account struct{ ID, Name string }
	var annIs, bobIs account
	ann.do(t, "GET", one.url+"/api/v1/account", nil, &annIs)
	bob.do(t, "GET", other.url+"/api/v1/account", nil, &bobIs)
	if annIs.Name != "ann" || bobIs.Name != "bob" || annIs.ID == bobIs.ID {
		t.Errorf("the accounts are %v and %v", annIs, bobIs)
	}

	// What a person stores, the other one does not see, and nor does the owner of the server.
	ann.do(t, "POST", other.url+"/api/v1/secrets", map[string]any{"name": "ANNS_WORD", "value": "moonlit"}, nil)
	var key struct{ Key string }
	ann.do(t, "POST", one.url+"/api/keys", map[string]any{"name": "program"}, &key)
	for name, c := range map[string]*client{"Ann": ann, "Bob": bob, "the owner": newClient(t, one)} {
		for _, s := range []*server{one, other} {
			_, raw := c.send(t, "GET", s.url+"/api/v1/secrets/search", nil)
			if sees := strings.Contains(string(raw), "ANNS_WORD"); sees != (name == "Ann") {
				t.Errorf("%s: %s", name, raw)
			}
		}
	}

	// The provider ends Ann's session at one server, and both know it at once. Her key is hers.
	r, err := http.PostForm(one.url+"/api/v1/sign-in/ended", url.Values{"logout_token": {p.Ended(t, oidctest.Claims{"sid": "session of ann"})}})
	must.Succeed(t, err)
	must.Succeed(t, r.Body.Close())
	program := &client{http: bob.http, api: key.Key}
	for _, s := range []*server{one, other} {
		if status, raw := ann.send(t, "GET", s.url+"/api/v1/account", nil); status != http.StatusUnauthorized {
			t.Errorf("Ann's session goes on: %d %s", status, raw)
		}
		bob.do(t, "GET", s.url+"/api/v1/account", nil, nil)
		var is account
		if program.do(t, "GET", s.url+"/api/v1/account", nil, &is); is != annIs {
			t.Errorf("Ann's key is of %v", is)
		}
	}
}

// TestSignOnIsForOthers: where people sign in, nobody works in directories of the machine, even if
// only the machine itself is served.
func TestSignOnIsForOthers(t *testing.T) {
	t.Parallel()
	p := oidctest.Start(t)
	s := start(t, options{env: signOnEnv(p)})
	ann, _ := signOn(t, p, s, s, "ann")
	for name, c := range map[string]*client{"a person": ann, "the owner": newClient(t, s)} {
		var offered struct{ Refused string }
		if c.do(t, "GET", s.url+"/api/v1/directories", nil, &offered); offered.Refused == "" {
			t.Errorf("%s may work in directories", name)
		}
		if status, raw := c.send(t, "POST", s.url+"/api/v1/app-conversations", map[string]any{"directory": t.TempDir()}); status/100 != 4 {
			t.Errorf("%s: %d %s", name, status, raw)
		}
	}
}
