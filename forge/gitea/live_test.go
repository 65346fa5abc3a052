package gitea_test

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/forge"
	"github.com/deft-dev/deft/forge/exchange"
	"github.com/deft-dev/deft/forge/forgetest"
	"github.com/deft-dev/deft/forge/gitea"
	"github.com/deft-dev/deft/internal/must"
)

// More than a page of each: the server's have 10 entries at most.
const (
	organisations = 12
	repositories  = 13 // of the user
	branches      = 14 // beside the main branch
)

// populate fills a server: octocat with organisations and repositories, acme/api with
// branches, pull requests in each state, and issues.
func populate(g *forgetest.Gitea) {
	type object = map[string]any
	for i := range organisations {
		name := fmt.Sprintf("org-%02d", i)
		if i == 0 {
			name = "acme"
		}
		g.Do(g.Token, "POST", "/orgs", object{"username": name}, nil)
	}
	for i := range repositories {
		g.Do(g.Token, "POST", "/user/repos", object{"name": fmt.Sprintf("r%02d", i), "private": i%2 == 0}, nil)
	}
	g.Do(g.Token, "POST", "/orgs/acme/repos", object{"name": "api", "private": true, "default_branch": "main"}, nil)
	g.Push("acme/api", `
commit() { echo "$2" >"$1"; git add -A; git commit -qm "$2"; }
commit README.md one
for b in conflict failing changes fine draft login; do git checkout -qb "$b" main; [[ $b != conflict ]] || commit README.md "$b"; commit "$b.txt" "$b"; done
git checkout -q main; commit README.md two
for i in $(seq 1 `+fmt.Sprint(branches-6)+`); do git branch "b/$i"; done`)
	for here := false; !here; { // the server examines a push beside requests
		var repository struct {
			Empty bool `json:"empty"`
		}
		g.Do(g.Token, "GET", "/repos/acme/api", nil, &repository)
		var page []object
		g.Do(g.Token, "GET", fmt.Sprintf("/repos/acme/api/branches?limit=1&page=%d", branches+1), nil, &page)
		here = !repository.Empty && len(page) == 1
	}
	g.Do(g.Token, "POST", "/admin/users", object{"username": "rev", "password": "a-pass-word-2", "email": "rev@example.com", "must_change_password": false}, nil)
	g.Do(g.Token, "PUT", "/repos/acme/api/collaborators/rev", object{"permission": "write"}, nil)
	reviewer := g.UserToken("rev", "a-pass-word-2", "all", "all")
	for i, b := range []string{"conflict", "failing", "changes", "fine"} {
		g.Do(g.Token, "POST", "/repos/acme/api/pulls", object{"title": b, "head": b, "base": "main"}, nil)
		for { // whether it merges is found out beside requests
			var pull struct {
				Mergeable bool `json:"mergeable"`
				Head      struct {
					SHA string `json:"sha"`
				} `json:"head"`
			}
			g.Do(g.Token, "GET", fmt.Sprintf("/repos/acme/api/pulls/%d", i+1), nil, &pull)
			if b == "failing" && pull.Mergeable {
				g.Do(g.Token, "POST", "/repos/acme/api/statuses/"+pull.Head.SHA, object{"state": "failure", "context": "ci"}, nil)
			}
			if b == "conflict" || pull.Mergeable {
				break
			}
		}
	}
	g.Do(reviewer, "POST", "/repos/acme/api/pulls/3/reviews", object{"event": "REQUEST_CHANGES", "body": "no"}, nil)
	g.Do(g.Token, "POST", "/repos/acme/api/pulls", object{"title": "WIP: later", "head": "draft", "base": "main"}, nil)
	g.Do(g.Token, "POST", "/repos/acme/api/issues", object{"title": "crash", "assignees": []string{g.User}}, nil)
	g.Do(g.Token, "POST", "/repos/acme/api/issues", object{"title": "of nobody"}, nil)
	g.Do(g.Token, "POST", "/repos/acme/api/labels", object{"name": "bug", "color": "#d73a4a"}, nil)
}

// TestServer drives the adapter against a real server.
func TestServer(t *testing.T) {
	t.Parallel()
	g := forgetest.StartGitea(t)
	populate(g)
	at, err := url.Parse(g.URL)
	must.Succeed(t, err)
	limits := &exchange.Limits{}
	open := func(token string) *gitea.Host {
		return gitea.New(exchange.Endpoint{Web: at, Token: token, HTTP: &http.Client{}, Limits: limits})
	}
	h, ctx := open(g.Token), t.Context()

	t.Run("user", func(t *testing.T) {
		u, err := h.User(ctx)
		if u.Login != "octocat" || u.ID == "" || u.Email != "octocat@example.com" || err != nil {
			t.Errorf("%+v, %v", u, err)
		}
	})
	t.Run("accounts", func(t *testing.T) {
		got, err := h.Accounts(ctx)
		if len(unique(got)) != organisations+1 || got[0] != "octocat" || err != nil {
			t.Errorf("%d: %q, %v", len(got), got, err)
		}
	})
	t.Run("repositories", func(t *testing.T) {
		for q, want := range map[forge.RepositoryQuery]int{
			{}: repositories + 1, {Account: "octocat"}: repositories, {Account: "acme"}: 1, {Account: "org-07"}: 0, {Text: "r1"}: 3, {Text: "acme/api"}: 1,
			{Sort: forge.ByName, Ascending: true}: repositories + 1,
		} {
			for _, size := range []int{3, 100} {
				var got []string
				found, err := forge.All(func(p forge.Page) (forge.List[forge.Repository], error) {
					q := q
					q.Page = forge.Page{Token: p.Token, Size: size}
					return h.Repositories(ctx, q)
				})
				for _, r := range found {
					got = append(got, r.FullName)
				}
				if len(unique(got)) != want || len(got) != want || err != nil {
					t.Errorf("%+v by %d: %d, want %d: %q, %v", q, size, len(got), want, got, err)
				}
			}
		}
	})
	t.Run("repository", func(t *testing.T) {
		r, err := h.Repository(ctx, "acme/api")
		if r.FullName != "acme/api" || r.Public || r.MainBranch != "main" || r.PushedAt == "" || err != nil {
			t.Errorf("%+v, %v", r, err)
		}
		if r, err = h.Repository(ctx, "octocat/r01"); r.MainBranch != "" || !r.Public || err != nil {
			t.Errorf("an empty one: %+v, %v", r, err)
		}
		for name, ask := range map[string]func() error{
			"repository": func() error { _, err := h.Repository(ctx, "acme/none"); return err },
			"branches":   func() error { _, err := h.Branches(ctx, "acme/none", "", forge.Page{}); return err },
			"search":     func() error { _, err := h.Branches(ctx, "acme/none", "x", forge.Page{}); return err },
			"account":    func() error { _, err := h.Repositories(ctx, forge.RepositoryQuery{Account: "none"}); return err },
			"proposal": func() error {
				_, err := h.Propose(ctx, forge.Proposal{Repository: "acme/none", Source: "a", Target: "b", Title: "c"})
				return err
			},
		} {
			if err := ask(); !fault.Is(err, fault.NotFound) {
				t.Errorf("%s of nothing: %v", name, err)
			}
		}
	})
	t.Run("branches", func(t *testing.T) {
		for text, want := range map[string]int{"": branches + 1, "b/": 8, "LOGIN": 1, "none": 0} {
			var got []string
			found, err := forge.All(func(p forge.Page) (forge.List[forge.Branch], error) {
				return h.Branches(ctx, "acme/api", text, forge.Page{Token: p.Token, Size: 4})
			})
			for _, b := range found {
				if got = append(got, b.Name); len(b.Commit) != 40 || b.PushedAt == "" {
					t.Errorf("%+v", b)
				}
			}
			if len(unique(got)) != want || len(got) != want || err != nil {
				t.Errorf("%q: %d, want %d: %q, %v", text, len(got), want, got, err)
			}
		}
	})
	t.Run("tasks", func(t *testing.T) {
		got, err := h.Tasks(ctx)
		want := map[forge.Task]bool{
			{Type: forge.MergeConflicts, Repository: "acme/api", Number: 1, Title: "conflict"}:    true,
			{Type: forge.FailingChecks, Repository: "acme/api", Number: 2, Title: "failing"}:      true,
			{Type: forge.UnresolvedComments, Repository: "acme/api", Number: 3, Title: "changes"}: true,
			{Type: forge.OpenIssue, Repository: "acme/api", Number: 6, Title: "crash"}:            true,
		}
		if diff := cmp.Diff(want, unique(got)); diff != "" || err != nil {
			t.Error(diff, err)
		}
	})
	t.Run("proposal", func(t *testing.T) {
		p := forge.Proposal{Repository: "acme/api", Source: "login", Target: "main", Title: "Log in", Description: "It works.", Draft: true, Labels: []string{"bug"}}
		made, err := h.Propose(ctx, p)
		if made.Number == 0 || made.URL != fmt.Sprintf("%s/acme/api/pulls/%d", g.URL, made.Number) || made.Warning != "" || err != nil {
			t.Fatalf("%+v, %v", made, err)
		}
		var pull struct {
			Title  string                 `json:"title"`
			Body   string                 `json:"body"`
			Draft  bool                   `json:"draft"`
			Labels []map[string]any       `json:"labels"`
			Head   struct{ Ref string }   `json:"head"`
			Base   struct{ Ref string }   `json:"base"`
			User   struct{ Login string } `json:"user"`
		}
		g.Do(g.Token, "GET", fmt.Sprintf("/repos/acme/api/pulls/%d", made.Number), nil, &pull)
		if pull.Title != "WIP: Log in" || pull.Body != p.Description || !pull.Draft || len(pull.Labels) != 1 || pull.Head.Ref != "login" || pull.Base.Ref != "main" || pull.User.Login != "octocat" {
			t.Errorf("the server has %+v", pull)
		}
		if _, err = h.Propose(ctx, p); !fault.Is(err, fault.Conflict) {
			t.Errorf("again: %v", err)
		}
		p.Source = "none"
		if _, err = h.Propose(ctx, p); !fault.Is(err, fault.NotFound) || !strings.Contains(err.Error(), "no branch none") {
			t.Errorf("from a branch that does not exist: %v", err)
		}
		p.Source, p.Labels = "fine", []string{"none"}
		if _, err = h.Propose(ctx, p); !fault.Is(err, fault.Invalid) {
			t.Errorf("with a label that does not exist: %v", err)
		}
	})
	t.Run("tokens", func(t *testing.T) {
		wrong := open("0123456789abcdef0123456789abcdef01234567")
		if _, err := wrong.User(ctx); !fault.Is(err, fault.Auth) || strings.Contains(err.Error(), "01234567") {
			t.Errorf("a wrong one: %v", err)
		}
		few := open(g.UserToken(g.User, "a-pass-word-1", "few", "read:user"))
		if _, err := few.User(ctx); err != nil {
			t.Errorf("of few scopes: %v", err)
		}
		if _, err := few.Repository(ctx, "acme/api"); !fault.Is(err, fault.Denied) {
			t.Errorf("beyond its scopes: %v", err)
		}
		reviewer := open(g.UserToken("rev", "a-pass-word-2", "repositories", "all"))
		if _, err := reviewer.Repository(ctx, "octocat/r00"); !fault.Is(err, fault.NotFound) {
			t.Errorf("a private repository of another user: %v", err)
		}
		if _, err := open("").Repository(ctx, "acme/api"); !fault.Is(err, fault.NotFound) && !fault.Is(err, fault.Auth) {
			t.Errorf("without a token: %v", err)
		}
	})
	t.Run("clone", func(t *testing.T) {
		from, user, password := h.Clone("acme/api")
		git := exec.CommandContext(ctx, "git", "-c", "credential.helper=!f() { echo username=$U; echo password=$P; }; f", "ls-remote", from, "refs/heads/main")
		git.Env = append(os.Environ(), "U="+user, "P="+password, "GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_GLOBAL=/dev/null")
		if out, err := git.CombinedOutput(); err != nil || !strings.Contains(string(out), "refs/heads/main") {
			t.Errorf("%v: %s", err, out)
		}
	})
}

func unique[T comparable](all []T) map[T]bool {
	out := map[T]bool{}
	for _, one := range all {
		out[one] = true
	}
	return out
}
