package gitlab_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/forge"
	"github.com/deft-dev/deft/forge/exchange"
	"github.com/deft-dev/deft/forge/forgetest"
	"github.com/deft-dev/deft/forge/gitlab"
)

// TestPublished reads the answers that GitLab's own client and go-scm are tested with.
func TestPublished(t *testing.T) {
	t.Parallel()
	const base = "/api/v4"
	own := func(request, name string) forgetest.Exchange {
		return forgetest.Exchange{Request: request, Body: forgetest.Published(t, "gitlab/"+name+".json")}
	}
	scm := func(request, name string) forgetest.Exchange {
		return forgetest.Exchange{Request: request, Body: forgetest.GoSCM(t, "gitlab/"+name+".json")}
	}
	more := scm("GET "+base+"/projects?membership=true&order_by=last_activity_at&sort=desc&page=1&per_page=1", "repos")
	// The headers of https://docs.gitlab.com/api/rest/#pagination.
	more.Header = map[string]string{"X-Next-Page": "2", "X-Page": "1", "X-Per-Page": "1", "Link": `<https://gitlab.example.com/api/v4/projects?page=2&per_page=1>; rel="next"`}
	made := scm("POST "+base+"/projects/diaspora%2Fdiaspora/merge_requests", "merge")
	made.Status = http.StatusCreated
	s := forgetest.Replay(t, []forgetest.Exchange{
		own("GET "+base+"/user", "get_user"),
		scm("GET "+base+"/groups?min_access_level=10&page=1&per_page=100", "groups"),
		more,
		scm("GET "+base+"/projects/diaspora%2Fdiaspora", "repo"),
		own("GET "+base+"/projects/diaspora%2Fdiaspora/repository/branches?page=1&per_page=30", "list_branches"),
		made,
	})
	h, ctx := s.Open(func(e exchange.Endpoint) forge.Host { return gitlab.New(e) }, forgetest.Token), t.Context()

	equal := func(what string, want, got any, err error) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got)\n%s", what, err, diff)
		}
	}
	u, err := h.User(ctx)
	equal("user", forge.User{ID: "1", Login: "john_smith", AvatarURL: "http://localhost:3000/uploads/user/avatar/1/cd8.jpeg", Name: "John Smith", Company: "Smith Inc"}, u, err)
	accounts, err := h.Accounts(ctx)
	equal("accounts", []string{"john_smith", "twitter"}, accounts, err)
	diaspora := forge.Repository{ID: "178504", FullName: "diaspora/diaspora", Public: true, PushedAt: "2015-03-03T18:37:20.795Z", MainBranch: "master", OfOrganisation: true}
	all, err := h.Repositories(ctx, forge.RepositoryQuery{Page: forge.Page{Size: 1}})
	equal("projects", forge.List[forge.Repository]{Items: []forge.Repository{diaspora}, Next: forge.PageToken(2, 1)}, all, err)
	one, err := h.Repository(ctx, "diaspora/diaspora")
	equal("project", diaspora, one, err)
	branches, err := h.Branches(ctx, "diaspora/diaspora", "", forge.Page{})
	equal("branches", forge.List[forge.Branch]{Items: []forge.Branch{
		{Name: "master", Commit: "7b5c3cc8be40ee161ae89a06bba6229da1032a0c", Protected: true, PushedAt: "2012-06-28T03:44:20.000Z"},
		{Name: "develop", Commit: "7b5c3cc8be40ee161ae89a06bba6229da1032a0c", Protected: true, PushedAt: "2012-06-28T03:44:20.000Z"},
	}}, branches, err)
	mr, err := h.Propose(ctx, forge.Proposal{Repository: "diaspora/diaspora", Source: "fix", Target: "master", Title: "JS fix"})
	equal("proposal", forge.PullRequest{Number: 1, URL: "https://gitlab.com/gitlab-org/testme/merge_requests/1"}, mr, err)
}
