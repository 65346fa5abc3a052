package oauth_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/forge"
	"github.com/deft-dev/deft/forge/oauth"
	"github.com/deft-dev/deft/internal/must"
)

// The answers come from the providers' documentation (endpoints in oauth.go).
func TestRenew(t *testing.T) {
	t.Parallel()
	const form, jsonType = "application/x-www-form-urlencoded", "application/json"
	for name, c := range map[string]struct {
		provider           forge.Provider
		status             int
		kind, answer, want string
		fails              fault.Kind
		basic              bool
	}{
		"GitHub": {
			forge.GitHub, 200, form,
			"access_token=ghu_new&expires_in=28800&refresh_token=ghr_new&refresh_token_expires_in=15811200&scope=&token_type=bearer", "ghu_new ghr_new 8h0m0s", "", false,
		},
		"GitHub refuses": {
			forge.GitHub, 200, form,
			"error=bad_refresh_token&error_description=The+refresh+token+passed+is+incorrect+or+expired.&error_uri=https%3A%2F%2Fdocs.github.com", "", fault.Auth, false,
		},
		"GitHub refuses in JSON": {forge.GitHub, 200, jsonType, `{"error":"bad_refresh_token","error_description":"The refresh token passed is incorrect or expired."}`, "", fault.Auth, false},
		"GitLab": {
			forge.GitLab, 200, jsonType,
			`{"access_token":"c97d1fe52119f38c7f67f0a14db68d60caa35ddc86fd12401718b649dcfa9c68","token_type":"bearer","expires_in":7200,"refresh_token":"803c1fd487fec35562c205dac93e9d8e08f9d3652a24079d704df3039df1158f","created_at":1628711391}`,
			"c97d1fe52119f38c7f67f0a14db68d60caa35ddc86fd12401718b649dcfa9c68 803c1fd487fec35562c205dac93e9d8e08f9d3652a24079d704df3039df1158f 2h0m0s", "", false,
		},
		"GitLab refuses": {
			forge.GitLab, 400, jsonType,
			`{"error":"invalid_grant","error_description":"The provided authorization grant is invalid, expired, revoked, does not match the redirection URI used in the authorization request, or was issued to another client."}`, "", fault.Auth, false,
		},
		"Bitbucket": {
			forge.Bitbucket, 200, jsonType,
			`{"access_token":"bb_new","scopes":"account repository","expires_in":7200,"refresh_token":"same","token_type":"bearer"}`, "bb_new same 2h0m0s", "", true,
		},
		"wrong application": {forge.GitLab, 401, jsonType, `{"error":"invalid_client"}`, "", fault.Unavailable, false},
		"overloaded":        {forge.GitLab, 503, "text/html", `<html>refresh-secret</html>`, "", fault.Unavailable, false},
		"redirect":          {forge.GitLab, 307, "text/html", ``, "", fault.Unavailable, false},
		"no token":          {forge.GitLab, 200, jsonType, `{}`, "", fault.Unavailable, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := 0
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked++
				raw, err := io.ReadAll(r.Body)
				must.Report(t, err)
				id, secret, basic := r.BasicAuth()
				if basic != c.basic || basic && (id != "id" || secret != "app-secret") || !basic && !strings.Contains(string(raw), "client_secret=app-secret") {
					t.Errorf("the application is %v %s in %s", basic, id, raw)
				}
				if !strings.Contains(string(raw), "grant_type=refresh_token") || !strings.Contains(string(raw), "refresh_token=refresh-secret") {
					t.Errorf("asked with %s", raw)
				}
				w.Header().Set("Content-Type", c.kind)
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.answer) // the client names the missing part
			}))
			t.Cleanup(s.Close)
			r, err := oauth.New(map[forge.Provider]oauth.App{c.provider: {ID: "id", Secret: "app-secret", TokenURL: s.URL + "/token"}})
			must.Succeed(t, err)
			got, err := r.Renew(t.Context(), forge.Account{Provider: c.provider, Host: s.URL}, "refresh-secret")
			if asked != 1 {
				t.Errorf("asked %d times", asked)
			}
			if c.fails != "" {
				if !fault.Is(err, c.fails) || strings.Contains(err.Error(), "secret") {
					t.Errorf("%v, want the kind %s", err, c.fails)
				}
				if c.fails == fault.Auth && !strings.Contains(fault.HintOf(err), "sign in") {
					t.Errorf("the hint is %q", fault.HintOf(err))
				}
				return
			}
			must.Succeed(t, err)
			said := got.Token.Reveal() + " " + got.RefreshToken.Reveal() + " " + time.Until(got.Expires).Round(time.Minute).String()
			if said != c.want {
				t.Errorf("got %s, want %s", said, c.want)
			}
		})
	}
}

// TestCanRenew: the secret of an application goes to no other host.
func TestCanRenew(t *testing.T) {
	t.Parallel()
	r, err := oauth.New(map[forge.Provider]oauth.App{
		forge.GitHub: {ID: "id"}, forge.GitLab: {ID: "id", TokenURL: "https://git.corp:8443/oauth/token"}, forge.Bitbucket: {}, forge.Forgejo: {},
	})
	must.Succeed(t, err)
	for a, want := range map[forge.Account]bool{
		{Provider: forge.GitHub}: true, {Provider: forge.GitHub, Host: "github.com"}: true, {Provider: forge.GitHub, Host: "https://GitHub.com"}: true,
		{Provider: forge.GitHub, Host: "evil.example"}: false, {Provider: forge.GitLab}: false, {Provider: forge.GitLab, Host: "git.corp:8443"}: true,
		{Provider: forge.GitLab, Host: "git.corp"}: false, {Provider: forge.Bitbucket}: false, {Provider: forge.Forgejo}: false,
	} {
		if err := r.CanRenew(a); (err == nil) != want || err != nil && !fault.Is(err, fault.Unsupported) {
			t.Errorf("%+v: %v", a, err)
		}
	}
	if err := r.CanRenew(forge.Account{Provider: forge.Forgejo}); strings.Contains(fault.HintOf(err), "operator") {
		t.Errorf("a setting that is not there is named: %v (%s)", err, fault.HintOf(err))
	}
	for _, app := range []oauth.App{{ID: "id", TokenURL: "ftp://x"}, {ID: "id", TokenURL: "https://a:b@x"}, {ID: "id", TokenURL: "x"}} {
		if _, err := oauth.New(map[forge.Provider]oauth.App{forge.GitLab: app}); !fault.Is(err, fault.Invalid) {
			t.Errorf("%+v: %v", app, err)
		}
	}
	if _, err := oauth.New(map[forge.Provider]oauth.App{forge.Forgejo: {ID: "id"}}); !fault.Is(err, fault.Invalid) {
		t.Errorf("a provider without OAuth: %v", err)
	}
}
