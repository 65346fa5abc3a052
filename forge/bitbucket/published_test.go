package bitbucket_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/forge"
	"github.com/deft-dev/deft/forge/bitbucket"
	"github.com/deft-dev/deft/forge/exchange"
	"github.com/deft-dev/deft/forge/forgetest"
)

// TestPublished reads the answers of Bitbucket that go-scm is tested with.
func TestPublished(t *testing.T) {
	t.Parallel()
	const base, plugin = "/2.0", "atlassian/stash-example-plugin"
	scm := func(request, name string) forgetest.Exchange {
		return forgetest.Exchange{Request: request, Body: forgetest.GoSCM(t, "bitbucket/"+name+".json")}
	}
	made, missing := scm("POST "+base+"/repositories/atlassian/atlaskit/pullrequests", "pr"), scm("GET "+base+"/repositories/dev/null", "error")
	made.Status, missing.Status = http.StatusCreated, http.StatusNotFound
	s := forgetest.Replay(t, []forgetest.Exchange{
		scm("GET "+base+"/user", "user"),
		scm("GET "+base+"/user/workspaces?page=1&pagelen=50", "user_workspaces"),
		scm("GET "+base+"/repositories/atlassian?role=member&sort=-updated_on&page=1&pagelen=1", "repos"),
		scm("GET "+base+"/repositories/atlassian?role=member&sort=-updated_on&after=PLACEHOLDER&pagelen=1", "repos-2"),
		scm("GET "+base+"/repositories/"+plugin, "repo"),
		missing,
		scm("GET "+base+"/repositories/"+plugin+"/refs/branches?page=1&pagelen=30", "branches"),
		made,
	})
	h, ctx := s.Open(func(e exchange.Endpoint) forge.Host { return bitbucket.New(e) }, forgetest.Token), t.Context()

	equal := func(what string, want, got any, err error) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got)\n%s", what, err, diff)
		}
	}
	u, err := h.User(ctx)
	equal("user", forge.User{ID: "557058:2a6349dc-4346-4805-bd84-3abdd0812d17", Login: "brydzewski", Name: "Brad Rydzewski", AvatarURL: "https://bitbucket.org/account/brydzewski/avatar/32/"}, u, err)
	accounts, err := h.Accounts(ctx)
	equal("workspaces", []string{"my-workspace", "team-workspace"}, accounts, err)
	example := forge.Repository{ID: "{7dd600e6-0d9c-4801-b967-cb4cc17359ff}", FullName: plugin, PushedAt: "2018-04-01T16:36:35.970175+00:00", MainBranch: "master", OfOrganisation: true}
	all, err := forge.All(func(p forge.Page) (forge.List[forge.Repository], error) {
		return h.Repositories(ctx, forge.RepositoryQuery{Account: "atlassian", Page: forge.Page{Token: p.Token, Size: 1}})
	})
	equal("repositories", []forge.Repository{example, example}, all, err)
	one, err := h.Repository(ctx, plugin)
	equal("repository", example, one, err)
	if _, err = h.Repository(ctx, "dev/null"); !fault.Is(err, fault.NotFound) {
		t.Errorf("a repository that does not exist: %v", err)
	}
	branches, err := h.Branches(ctx, plugin, "", forge.Page{})
	equal("branches", forge.List[forge.Branch]{Items: []forge.Branch{{Name: "master", Commit: "a6e5e7d797edf751cbd839d6bd4aef86c941eec9", PushedAt: "2015-08-27T03:25:04+00:00"}}, Next: forge.PageToken(2, 30)}, branches, err)
	pr, err := h.Propose(ctx, forge.Proposal{Repository: "atlassian/atlaskit", Source: "Lachlan-Vass/ios-date-picker", Target: "master", Title: "IOS date picker"})
	equal("proposal", forge.PullRequest{Number: 4982, URL: "https://bitbucket.org/atlassian/atlaskit/pull-requests/4982"}, pr, err)
}
