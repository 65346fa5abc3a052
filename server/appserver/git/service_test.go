package git_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/deft-dev/deft/forge/forgetest"
	"github.com/deft-dev/deft/forge/route"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/server/appserver/git"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/settings"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve starts the routes for owners with the tokens of some providers: alice has GitHub,
// both has GitLab as well, wrong has a token that is refused.
func serve(t *testing.T) (string, map[string]*forgetest.Server) {
	t.Helper()
	hosts := map[string]*forgetest.Server{}
	for provider, dir := range map[string]string{"github": "github", "gitlab": "gitlab", "bitbucket": "bitbucket"} {
		hosts[provider] = forgetest.Serve(t, "../../../forge/"+dir+"/testdata/exchanges.json")
	}
	of := map[identity.Tenant][]string{"alice": {"github"}, "both": {"github", "gitlab"}, "bucket": {"bitbucket"}, "wrong": {"github"}, "nobody": nil}
	forges := route.New()
	t.Cleanup(forges.Close)
	s := git.New(git.Options{Forges: forges, Tokens: func(_ context.Context, owner identity.Tenant) (map[string]settings.ProviderToken, error) {
		out := map[string]settings.ProviderToken{}
		for _, p := range of[owner] {
			one := settings.ProviderToken{Token: forgetest.Token, Host: hosts[p].URL}
			if owner == "wrong" {
				one.Token = "another"
			}
			out[p] = one
		}
		return out, nil
	}})
	h, err := rest.New(rest.Options{Routes: s.Routes(), Authenticate: func(r *http.Request) (identity.Caller, error) {
		return identity.Caller{User: identity.User(r.Header.Get("Owner")), Scopes: []identity.Scope{identity.Account}}, nil
	}})
	must.Succeed(t, err)
	web := httptest.NewServer(h)
	t.Cleanup(web.Close)
	return web.URL, hosts
}

func get(t *testing.T, owner, at string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at, nil)
	must.Succeed(t, err)
	req.Header.Set("Owner", owner)
	resp, err := http.DefaultClient.Do(req)
	must.Succeed(t, err)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	must.Succeed(t, err)
	return resp.StatusCode, string(raw)
}

func TestRoutes(t *testing.T) {
	t.Parallel()
	base, hosts := serve(t)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	const (
		hello = `{"id":"1296269","full_name":"octocat/hello","git_provider":"github","is_public":true,"stargazers_count":80,"link_header":`
		rest1 = `,"pushed_at":"2026-11-06T19:06:43Z","owner_type":"user","main_branch":"main"}`
		api   = `{"id":"2","full_name":"acme/api","git_provider":"github","is_public":false,"stargazers_count":80,"link_header":null,"pushed_at":"2026-11-06T19:06:43Z","owner_type":"organization","main_branch":"main"}`
		web   = `{"id":"3","full_name":"acme/web","git_provider":"github","is_public":true,"stargazers_count":80,"link_header":null,"pushed_at":"2026-11-06T19:06:43Z","owner_type":"organization","main_branch":"main"}`
		login = `{"name":"feature/login","commit_sha":"c3d0be41ecbe669545ee3e94d31ed9a4bc91ee3c","protected":false,"last_push_date":`
		task  = `{"git_provider":"github","task_type":"MERGE_CONFLICTS","repo":"acme/api","issue_number":7,"title":"Log in by e-mail"}`
	)
	for _, c := range []struct {
		owner, path string
		status      int
		want        string // the whole answer, or with … a part of it
	}{
		{"alice", "/api/v1/git/installations/search?provider=github", 200, `{"items":["octocat","acme"],"next_page_id":null}`},
		{"alice", "/api/v1/git/installations/search?provider=github&limit=1", 200, `{"items":["octocat"],"next_page_id":"2.1"}`},
		{"alice", "/api/v1/git/installations/search?provider=github&page_id=2.1", 200, `{"items":["acme"],"next_page_id":null}`},
		{"alice", "/api/v1/git/installations/search?provider=github&page_id=x", 422, `…the page does not exist…`},
		{"alice", "/api/v1/git/installations/search?provider=gitlab", 403, `{"detail":"no token of gitlab is stored: store one in the settings"}`},
		{"alice", "/api/v1/git/installations/search?provider=svn", 422, `…'github', 'gitlab'…`},
		{"alice", "/api/v1/git/installations/search", 422, `…Field required…`},
		{"alice", "/api/v1/git/repositories/search?provider=github&limit=2", 200, `{"items":[` + hello + "null" + rest1 + "," + api + `],"next_page_id":"2.2"}`},
		{"alice", "/api/v1/git/repositories/search?provider=github&page_id=2.2", 200, `{"items":[` + web + `],"next_page_id":null}`},
		{"alice", "/api/v1/git/repositories/search?provider=github&query=we&limit=5", 200, `{"items":[` + web + `],"next_page_id":null}`},
		{"alice", "/api/v1/git/repositories/search?provider=github&query=" + url.QueryEscape(hosts["github"].URL+"/acme/api/pull/3"), 200, `{"items":[` + api + `],"next_page_id":null}`},
		{"alice", "/api/v1/git/repositories/search?provider=github&query=" + url.QueryEscape("https://elsewhere.example/acme/api"), 200, `{"items":[],"next_page_id":null}`},
		{"alice", "/api/v1/git/repositories/search?provider=github&installation_id=acme", 200, `{"items":[` + api + "," + web + `],"next_page_id":null}`},
		{"alice", "/api/v1/git/repositories/search?provider=github&sort_order=up", 422, `…stars-desc…`},
		{"alice", "/api/v1/git/branches/search?provider=github&repository=acme/api&query=log", 200, `{"items":[` + login + `"2026-11-05T10:00:00Z"}],"next_page_id":null}`},
		{"alice", "/api/v1/git/branches/search?provider=github&repository=acme&query=log", 422, `…owner/name…`},
		{"alice", "/api/v1/git/suggested-tasks/search?limit=1", 200, `{"items":[` + task + `],"next_page_id":"2.1"}`},
		{"both", "/api/v1/git/suggested-tasks/search", 200, `…{"git_provider":"gitlab","task_type":"OPEN_ISSUE","repo":"acme/api","issue_number":4,"title":"Crash on empty input"}]…`},
		{"alice", "/api/v1/users/git-info", 200, `{"id":"1","login":"octocat","avatar_url":"https://github.com/images/error/octocat_happy.gif","company":"GitHub","name":"The Octocat","email":"octocat@github.com"}`},
		{"alice", "/api/v1/users/git-organizations", 200, `{"organizations":["acme"],"provider":"github"}`},
		{"nobody", "/api/v1/git/suggested-tasks/search", 403, `…no token of a Git provider is stored: store one in the settings…`},
		{"nobody", "/api/v1/users/git-info", 403, `…`},
		{"wrong", "/api/v1/git/suggested-tasks/search", 403, `…`},
	} {
		status, body := get(t, c.owner, base+c.path)
		part := strings.Trim(c.want, "…")
		if status != c.status || strings.HasPrefix(c.want, "…") && !strings.Contains(body, part) || !strings.HasPrefix(c.want, "…") && body != c.want {
			t.Errorf("%s %s\n got %d %s\nwant %d %s", c.owner, c.path, status, body, c.status, c.want)
		}
		if strings.Contains(body, forgetest.Token) {
			t.Errorf("%s shows the token", c.path)
		}
	}
}
