package appserver_test

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/deft-dev/deft/forge/forgetest"
	"github.com/deft-dev/deft/internal/must"
)

// hidden are the hidden fields of a form.
var hidden = regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)"`)

// TestSignOnGitea signs a person in at a real provider, through its pages.
func TestSignOnGitea(t *testing.T) {
	t.Parallel()
	g := forgetest.StartGitea(t)
	const secretOfAnn = "a-pass-word-3"
	g.Do(g.Token, "POST", "/admin/users", map[string]any{"username": "ann", "full_name": "Ann A", "password": secretOfAnn, "email": "ann@example.org", "must_change_password": false}, nil)
	// A public client of Gitea's may have any port of this machine; it has no secret.
	var app struct {
		Client string `json:"client_id"`
	}
	g.Do(g.Token, "POST", "/user/applications/oauth2", map[string]any{"name": "deft", "redirect_uris": []string{"http://127.0.0.1/api/v1/sign-in/callback"}, "confidential_client": false}, &app)
	s := start(t, options{env: []string{"DEFT_AUTH_ISSUER=" + g.URL, "DEFT_AUTH_CLIENT_ID=" + app.Client, "DEFT_AUTH_ALLOWED_DOMAINS=example.org"}})

	jar, err := cookiejar.New(nil)
	must.Succeed(t, err)
	h := &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	t.Cleanup(h.CloseIdleConnections)
	visit := func(method, address string, form url.Values) (location, body string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(form.Encode()))
		must.Succeed(t, err)
		if method == http.MethodPost {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		resp, err := h.Do(r)
		must.Succeed(t, err)
		defer resp.Body.Close()
		raw, err := io.ReadAll(resp.Body)
		must.Succeed(t, err)
		if resp.StatusCode >= http.StatusBadRequest {
			t.Fatalf("%s %s: %s %s", method, address, resp.Status, raw)
		}
		return resp.Header.Get("Location"), string(raw)
	}
	asks, _ := visit("GET", s.url+"/api/v1/sign-in/start?to=/settings/account", nil)
	visit("GET", asks, nil)
	visit("POST", g.URL+"/user/login", url.Values{"user_name": {"ann"}, "password": {secretOfAnn}})
	_, page := visit("GET", asks, nil)
	form := url.Values{"granted": {"true"}}
	for _, field := range hidden.FindAllStringSubmatch(page, -1) {
		form.Set(field[1], strings.ReplaceAll(field[2], "&amp;", "&"))
	}
	back, page := visit("POST", g.URL+"/login/oauth/grant", form)
	if !strings.HasPrefix(back, s.url) {
		t.Fatalf("the provider sends the browser to %q: %s", back, page)
	}
	if to, _ := visit("GET", back, nil); to != "/settings/account" {
		t.Fatalf("Ann is sent to %q", to)
	}
	_, raw := visit("GET", s.url+"/api/v1/account", nil)
	for _, want := range []string{`"name":"Ann A"`, `"email":"ann@example.org"`, `"issuer":"` + g.URL + `"`} {
		if !strings.Contains(raw, want) {
			t.Errorf("Ann is %s, want %s", raw, want)
		}
	}
	if to, _ := visit("GET", back, nil); to != "/#sign-in=ended" {
		t.Errorf("the answer, once more: %q", to)
	}
}
