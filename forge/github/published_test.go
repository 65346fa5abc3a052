package github_test

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/forge"
	"github.com/deft-dev/deft/forge/exchange"
	"github.com/deft-dev/deft/forge/forgetest"
	"github.com/deft-dev/deft/forge/github"
	"github.com/deft-dev/deft/internal/must"
)

const (
	document   = "openapi/generated/api.github.com.json"
	recordings = "fixtures/scenarios/api.github.com/"
	base       = "/api/v3"
)

func open(e exchange.Endpoint) forge.Host { return github.New(e) }

// TestPublishedExamples reads the examples of GitHub's OpenAPI document, and holds the
// requests to it.
func TestPublishedExamples(t *testing.T) {
	t.Parallel()
	d := forgetest.OpenAPI(t, document)
	example := func(request, name string) forgetest.Exchange {
		return forgetest.Exchange{Request: request, Body: d.Example(t, name)}
	}
	more := example("GET "+base+"/user/repos?direction=desc&page=1&per_page=1&sort=pushed", "repository-items-default-response")
	// The form of https://docs.github.com/en/rest/using-the-rest-api/using-pagination-in-the-rest-api.
	more.Header = map[string]string{"Link": `<{base}/user/repos?page=2>; rel="next", <{base}/user/repos?page=9>; rel="last"`}
	made := example("POST "+base+"/repos/octocat/Hello-World/pulls", "pull-request")
	made.Status = http.StatusCreated
	s := forgetest.Replay(t, []forgetest.Exchange{
		example("GET "+base+"/user", "private-user-response-with-public-and-private-profile-information"),
		example("GET "+base+"/user/orgs?page=1&per_page=100", "organization-simple-items"),
		more,
		example("GET "+base+"/user/repos?affiliation=owner&direction=desc&page=1&per_page=30&sort=pushed", "repository-items-default-response"),
		example("GET "+base+"/orgs/github/repos?direction=asc&page=1&per_page=30&sort=full_name", "minimal-repository-items"),
		example("GET "+base+"/search/repositories?order=desc&page=1&per_page=30&q=%22tetris%22+in%3Aname+fork%3Atrue+user%3Aoctocat+user%3Agithub&sort=stars", "repo-search-result-item-paginated"),
		example("GET "+base+"/repos/octocat/Hello-World", "full-repository-default-response"),
		example("GET "+base+"/repos/octocat/Hello-World/branches?page=1&per_page=30", "short-branch-with-protection-items"),
		made,
		example("POST "+base+"/repos/octocat/Hello-World/issues/1347/labels", "label-items"),
	})
	s.Check = func(line string, body []byte) { d.Check(t, strings.Replace(line, base, "", 1), body) }
	h, ctx := s.Open(open, forgetest.Token), t.Context()

	equal := func(what string, want, got any, err error) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got)\n%s", what, err, diff)
		}
	}
	u, err := h.User(ctx)
	equal("user", forge.User{
		ID: "1", Login: "octocat", AvatarURL: "https://github.com/images/error/octocat_happy.gif", Name: "monalisa octocat", Company: "GitHub", Email: "octocat@github.com",
	}, u, err)
	accounts, err := h.Accounts(ctx)
	equal("accounts", []string{"octocat", "github"}, accounts, err)
	hello := forge.Repository{ID: "1296269", FullName: "octocat/Hello-World", Public: true, Stars: 80, PushedAt: "2011-01-26T19:06:43Z", MainBranch: "master"}
	all, err := h.Repositories(ctx, forge.RepositoryQuery{Page: forge.Page{Size: 1}})
	equal("repositories", forge.List[forge.Repository]{Items: []forge.Repository{hello}, Next: forge.PageToken(2, 1)}, all, err)
	own, err := h.Repositories(ctx, forge.RepositoryQuery{Account: "octocat"})
	equal("own repositories", forge.List[forge.Repository]{Items: []forge.Repository{hello}}, own, err)
	of, err := h.Repositories(ctx, forge.RepositoryQuery{Account: "github", Sort: forge.ByName, Ascending: true})
	equal("those of an organisation", forge.List[forge.Repository]{Items: []forge.Repository{hello}}, of, err)
	found, err := h.Repositories(ctx, forge.RepositoryQuery{Text: "tetris", Sort: forge.ByStars})
	equal("search", forge.List[forge.Repository]{Items: []forge.Repository{
		{ID: "3081286", FullName: "dtrupenn/Tetris", Public: true, Stars: 1, PushedAt: "2012-01-01T00:37:02Z", MainBranch: "master"},
	}}, found, err)
	one, err := h.Repository(ctx, "octocat/Hello-World")
	equal("repository", hello, one, err)
	branches, err := h.Branches(ctx, "octocat/Hello-World", "", forge.Page{})
	equal("branches", forge.List[forge.Branch]{Items: []forge.Branch{{Name: "master", Commit: "c5b97d5ae6c19d5c5df71a34c7fbeeda2479ccbc", Protected: true}}}, branches, err)
	pr, err := h.Propose(ctx, forge.Proposal{Repository: "octocat/Hello-World", Source: "new-topic", Target: "master", Title: "Amazing new feature", Description: "Please pull these.", Draft: true, Labels: []string{"bug"}})
	equal("proposal", forge.PullRequest{Number: 1347, URL: "https://github.com/octocat/Hello-World/pull/1347"}, pr, err)
}

// TestRequestsAreDocumented holds all requests of the conformance suite to GitHub's OpenAPI
// document.
func TestRequestsAreDocumented(t *testing.T) {
	t.Parallel()
	d := forgetest.OpenAPI(t, document)
	for _, e := range forgetest.Exchanges(t, "testdata/exchanges.json") {
		if line := strings.Replace(e.Request, base, "", 1); !strings.HasSuffix(line, "/graphql") {
			d.Check(t, line, nil)
		}
	}
}

// TestRecorded replays answers of api.github.com.
func TestRecorded(t *testing.T) {
	t.Parallel()
	replay := func(t *testing.T, scenario string) forge.Host {
		t.Helper()
		return forgetest.Replay(t, forgetest.Recorded(t, recordings+scenario+"/normalized-fixture.json", "https://api.github.com", "{base}"+base)).Open(open, forgetest.Token)
	}
	t.Run("repository", func(t *testing.T) {
		t.Parallel()
		r, err := replay(t, "get-repository").Repository(t.Context(), "octokit-fixture-org/hello-world")
		if r.FullName != "octokit-fixture-org/hello-world" || !r.OfOrganisation || r.MainBranch == "" || err != nil {
			t.Errorf("%+v, %v", r, err)
		}
	})
	t.Run("renamed", func(t *testing.T) {
		t.Parallel()
		r, err := replay(t, "rename-repository").Repository(t.Context(), "octokit-fixture-org/rename-repository")
		if r.FullName != "octokit-fixture-org/rename-repository-newname" || err != nil {
			t.Errorf("%+v, %v", r, err)
		}
	})
	t.Run("pages", func(t *testing.T) {
		t.Parallel()
		all := forgetest.Recorded(t, recordings+"paginate-issues/normalized-fixture.json", "https://api.github.com", "{base}"+base)
		for i, e := range all {
			if more := exchange.HasNext(http.Header{"Link": {e.Header["link"]}}); more != (i+1 < len(all)) {
				t.Errorf("page %d of %d: %v after %s", i+1, len(all), more, e.Header["link"])
			}
		}
	})
	t.Run("refused", func(t *testing.T) {
		t.Parallel()
		all := forgetest.Recorded(t, recordings+"errors/normalized-fixture.json", "https://api.github.com", "{base}"+base)
		refused := all[0]
		refused.Request = "POST " + base + "/repos/octokit-fixture-org/errors/pulls"
		_, err := forgetest.Replay(t, []forgetest.Exchange{refused}).Open(open, forgetest.Token).
			Propose(t.Context(), forge.Proposal{Repository: "octokit-fixture-org/errors", Source: "a", Target: "b", Title: "c"})
		if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "Validation Failed") || !strings.Contains(err.Error(), "color") {
			t.Errorf("%v", err)
		}
	})
}

// TestQueriesAreValid holds the questions of GraphQL to GitHub's schema.
func TestQueriesAreValid(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(forgetest.Dependency(t, "forges"), "graphql")
	queries := map[string]bool{}
	for name, ask := range map[string]func(forge.Host) error{
		"tasks": func(h forge.Host) error { _, err := h.Tasks(t.Context()); return err },
		"branches": func(h forge.Host) error {
			_, err := h.Branches(t.Context(), "acme/api", "log", forge.Page{Size: 10})
			return err
		},
	} {
		s := forgetest.Serve(t, "testdata/exchanges.json")
		s.Check = func(_ string, body []byte) {
			var sent struct {
				Query string `json:"query"`
			}
			must.Report(t, json.Unmarshal(body, &sent))
			queries[sent.Query] = true
		}
		if err := ask(s.Open(open, forgetest.Token)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(queries) != 3 {
		t.Fatalf("there are %d questions", len(queries))
	}
	for q := range queries {
		validate := exec.CommandContext(t.Context(), "node", "--input-type=module", "-e", //nolint:gosec // a fixed script
			`import { pathToFileURL } from "node:url"; import { readFileSync } from "node:fs";
			const { validate } = await import(pathToFileURL(process.cwd() + "/node_modules/@octokit/graphql-schema/index.js"));
			const wrong = validate(readFileSync(0, "utf8")); console.log(wrong.map(String).join("\n")); process.exit(wrong.length)`)
		validate.Dir, validate.Stdin, validate.Stderr = dir, strings.NewReader(q), os.Stderr
		if out, err := validate.Output(); err != nil {
			t.Errorf("%v: %s\n%s", err, out, q)
		}
	}
}
