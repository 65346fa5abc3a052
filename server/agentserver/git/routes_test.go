package git_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/forge/route"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/testtree"
	"github.com/deft-dev/deft/server/agentserver/git"
	"github.com/deft-dev/deft/server/agentserver/workspacescope"
	"github.com/deft-dev/deft/server/rest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func serve(t *testing.T, routes []rest.Route) *httptest.Server {
	t.Helper()
	h, err := rest.New(rest.Options{Routes: routes, Keys: func() []string { return nil }})
	must.Succeed(t, err)
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv
}

func get(t *testing.T, srv *httptest.Server, path string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL+path, nil)
	must.Succeed(t, err)
	resp, err := srv.Client().Do(req)
	must.Succeed(t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	must.Succeed(t, err)
	return resp.StatusCode, string(b)
}

// repository makes one with a commit of a.txt, and returns the commit's name.
func repository(t *testing.T) (dir, sha string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must.Succeed(t, err)
	write(t, filepath.Join(dir, "a.txt"), "x\n")
	return dir, testtree.Commit(t, dir)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	must.Succeed(t, os.WriteFile(path, []byte(text), 0o600))
}

func TestRoutes(t *testing.T) {
	t.Parallel()
	dir, sha := repository(t)
	write(t, filepath.Join(dir, "u <&>.txt"), "x")
	srv := serve(t, git.New(git.Options{}).Routes())
	q := "?path=" + url.QueryEscape(dir)
	const pattern = `"msg":"String should match pattern '^[0-9a-fA-F]{4,64}$'","input":"zz","ctx":{"pattern":"^[0-9a-fA-F]{4,64}$"}}]}`
	for _, c := range []struct {
		path   string
		status int
		want   string // answer of the reference 1.58.0
	}{
		{"/api/git/changes" + q, 200, `[{"status":"ADDED","path":"u <&>.txt"}]`},
		{"/api/git/changes" + dir, 200, `[{"status":"ADDED","path":"u <&>.txt"}]`},
		{"/api/git/changes" + q + "&ref=nope", 400, `{"detail":"Git command failed: git --no-pager rev-parse --verify 'nope^{commit}'"}`},
		{"/api/git/changes?path=/nonexistent", 200, `[]`},
		{"/api/git/changes", 422, `{"detail":[{"type":"missing","loc":["query","path"],"msg":"Field required","input":null}]}`},
		{"/api/git/diff" + q + "/a.txt", 200, `{"modified":"x","original":"x"}`},
		{"/api/git/diff" + dir + "/a.txt", 200, `{"modified":"x","original":"x"}`},
		{"/api/git/diff" + q + "/none", 400, `{"detail":"File does not exist: ` + dir + `/none"}`},
		{"/api/git/diff?path=/etc/hostname", 200, `{"modified":null,"original":null}`},
		{"/api/git/diff" + q + "/a.txt&ref=x&commit=abcd", 400, `{"detail":"'ref' and 'commit' are mutually exclusive"}`},
		{"/api/git/diff" + q + "/a.txt&commit=zz", 422, `{"detail":[{"type":"string_pattern_mismatch","loc":["query","commit"],` + pattern},
		{"/api/git/diff" + q + "/a.txt&commit=" + sha, 200, `{"modified":"x","original":""}`},
		{"/api/git/commits" + q, 200, `{"commits":[{"sha":"` + sha + `","short_sha":"` + sha[:7] + `","subject":"first","author":"N","timestamp":"2026-11-21T10:00:00+02:00"}],"has_more":false}`},
		{"/api/git/commits?path=/", 200, `{"commits":[],"has_more":false}`},
		{"/api/git/commits" + q + "&limit=0", 422, `{"detail":[{"type":"greater_than_equal","loc":["query","limit"],"msg":"Input should be greater than or equal to 1","input":"0","ctx":{"ge":1}}]}`},
		{"/api/git/commits/" + sha + "/changes" + q, 200, `[{"status":"ADDED","path":"a.txt"}]`},
		{"/api/git/commits/zz/changes" + q, 422, `{"detail":[{"type":"string_pattern_mismatch","loc":["path","sha"],` + pattern},
		{"/api/git/commits/abcd/changes" + q, 400, `{"detail":"Git command failed: git --no-pager rev-parse --verify 'abcd^{commit}'"}`},
		{"/api/git/repositories/search?provider=gitlab", 400, `{"detail":"Repository discovery is not supported for provider 'gitlab'"}`},
		{"/api/git/repositories/search?provider=x", 422, `{"detail":[{"type":"enum","loc":["query","provider"],"msg":"Input should be 'github', 'gitlab', 'bitbucket' or 'azure_devops'","input":"x","ctx":{"expected":"'github', 'gitlab', 'bitbucket' or 'azure_devops'"}}]}`},
		{"/api/git/repositories/search?provider=github&page_id=x", 200, `{"items":[],"next_page_id":null,"missing_token":true}`},
	} {
		if status, body := get(t, srv, c.path); status != c.status || body != c.want {
			t.Errorf("%s\n got %d %s\nwant %d %s", c.path, status, body, c.status, c.want)
		}
	}
}

func TestScopedRoutes(t *testing.T) {
	t.Parallel()
	dir, _ := repository(t)
	const id = "0000000000000000000000000000000a"
	srv := serve(t, git.New(git.Options{}).ScopedRoutes(func(_ context.Context, got string) (workspacescope.Workspace, error) {
		if got != id {
			return nil, fault.New(fault.NotFound, "Conversation not found")
		}
		return workspacescope.Directory(dir), nil
	}))
	write(t, filepath.Join(dir, "new.txt"), "x")
	if status, body := get(t, srv, "/api/conversations/"+id+"/git/compare?path="+dir); status != 200 ||
		body != `[{"status":"ADDED","path":"new.txt","added":1,"deleted":0,"binary":false}]` {
		t.Errorf("compare: %d %s", status, body)
	}
	base := "/api/conversations/" + id + "/git/changes?path="
	for path, status := range map[string]int{
		base + dir: 200, base + "/etc": 422, base + dir + "/..": 422, base + filepath.Base(dir): 422, base: 422, base + dir + "%00": 422,
		strings.Replace(base, id, "0000000000000000000000000000000b", 1) + dir: 404,
	} {
		if got, body := get(t, srv, path); got != status {
			t.Errorf("%s: %d %s", path, got, body)
		}
	}
}

func TestGitHub(t *testing.T) {
	t.Parallel()
	status := http.StatusOK
	hub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page := r.URL.Query().Get("page")
		if r.Header.Get("Authorization") != "Bearer tok" || r.URL.Path != "/api/v3/user/repos" || r.URL.Query().Get("per_page") != "100" {
			t.Errorf("asked %s %v", r.URL, r.Header)
		}
		if page == "1" {
			w.Header().Set("Link", `<https://x/?page=2>; rel="next", <https://x/?page=9>; rel="last"`)
		}
		w.WriteHeader(status)
		fmt.Fprintf(w, `[{"id":%s1,"full_name":"Me/One%s","private":true,"stargazers_count":3,"pushed_at":"p","default_branch":"main"},{"id":2,"full_name":"me/two"},{"id":3,"full_name":"me/three"}]`, page, page)
	}))
	t.Cleanup(hub.Close)
	forges := route.New()
	t.Cleanup(forges.Close)
	srv := serve(t, git.New(git.Options{Host: hub.URL, Forges: forges, Secret: func(_ context.Context, name string) (string, error) {
		if name == "GH_TOKEN" {
			return "tok", nil
		}
		return "", nil
	}}).Routes())
	search := func(query string) (out git.Repositories, code int) {
		code, body := get(t, srv, "/api/git/repositories/search?provider=github"+query)
		if code == 200 {
			must.Succeed(t, json.Unmarshal([]byte(body), &out))
		}
		return out, code
	}
	names := func(r git.Repositories) (out []string) {
		for _, i := range r.Items {
			out = append(out, i.FullName)
		}
		if r.NextPageID != nil {
			out = append(out, "next="+*r.NextPageID)
		}
		return out
	}
	for query, want := range map[string][]string{
		"":                               {"Me/One1", "me/two", "me/three", "next=2"},
		"&limit=1":                       {"Me/One1", "next=1:1"},
		"&limit=1&page_id=1:1":           {"me/two", "next=1:2"},
		"&page_id=2":                     {"Me/One2", "me/two", "me/three"},
		"&query=one":                     {"Me/One1", "Me/One2"},
		"&query=ONE&limit=1":             {"Me/One1", "next=2"},
		"&page_id=1:99999":               {"next=2"},
		"&query=t&limit=3&page_id=1%3A0": {"me/two", "me/three", "me/two", "next=2:1"},
	} {
		got, code := search(query)
		if diff := cmp.Diff(want, names(got)); code != 200 || diff != "" {
			t.Errorf("%s: %d (-want +got)\n%s", query, code, diff)
		}
	}
	for _, bad := range []string{"x", "0", "-1", "1:-1", "1:x", "9223372036854775807"} {
		if _, code := search("&page_id=" + bad); code != 400 {
			t.Errorf("page %s: %d", bad, code)
		}
	}
	for from, to := range map[int]int{401: 401, 403: 403, 404: 400, 500: 502} {
		if status = from; true {
			if _, code := search(""); code != to {
				t.Errorf("GitHub's %d became %d", from, code)
			}
		}
	}
}
