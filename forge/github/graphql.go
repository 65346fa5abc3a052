package github

import (
	"context"

	"github.com/deft-dev/deft/forge"
)

// maxTasks bounds the pages of 50 pull requests, and of 50 issues, that are looked at.
const maxTasks = 6

const branchQuery = `query($owner: String!, $name: String!, $text: String!, $first: Int!, $after: String) {
  repository(owner: $owner, name: $name) {
    refs(refPrefix: "refs/heads/", query: $text, first: $first, after: $after, orderBy: {field: ALPHABETICAL, direction: ASC}) {
      pageInfo { hasNextPage endCursor }
      nodes { name target { oid ... on Commit { committedDate } } branchProtectionRule { id } }
    }
  }
}`

// pageInfo is where a list of GraphQL goes on.
type pageInfo struct {
	HasNextPage bool   `json:"hasNextPage"`
	EndCursor   string `json:"endCursor"`
}

// searchBranches lists the branches with a text in their names. The token of a page is
// GitHub's cursor.
func (h *Host) searchBranches(ctx context.Context, repository, text string, p forge.Page) (out forge.List[forge.Branch], err error) {
	owner, name, err := forge.SplitName(repository)
	if err != nil {
		return out, err
	}
	_, size, err := forge.Page{Size: p.Size}.Number()
	if err != nil {
		return out, err
	}
	variables := map[string]any{"owner": owner, "name": name, "text": text, "first": size, "after": nil}
	if p.Token != "" {
		variables["after"] = p.Token
	}
	var data struct {
		Repository struct {
			Refs struct {
				PageInfo pageInfo `json:"pageInfo"`
				Nodes    []struct {
					Name   string `json:"name"`
					Target struct {
						OID           string `json:"oid"`
						CommittedDate string `json:"committedDate"`
					} `json:"target"`
					Rule *struct {
						ID string `json:"id"`
					} `json:"branchProtectionRule"`
				} `json:"nodes"`
			} `json:"refs"`
		} `json:"repository"`
	}
	if err := h.graphql.GraphQL(ctx, "/graphql", branchQuery, variables, &data); err != nil {
		return out, err
	}
	refs := data.Repository.Refs
	for _, n := range refs.Nodes {
		out.Items = append(out.Items, forge.Branch{Name: n.Name, Commit: n.Target.OID, PushedAt: n.Target.CommittedDate, Protected: n.Rule != nil})
	}
	if refs.PageInfo.HasNextPage {
		out.Next = refs.PageInfo.EndCursor
	}
	return out, nil
}

const pullsQuery = `query($after: String) {
  viewer {
    login
    pullRequests(first: 50, after: $after, states: [OPEN], orderBy: {field: UPDATED_AT, direction: DESC}) {
      pageInfo { hasNextPage endCursor }
      nodes {
        number title mergeable reviewDecision
        repository { nameWithOwner isArchived }
        commits(last: 1) { nodes { commit { statusCheckRollup { state } } } }
        reviewThreads(first: 50) { nodes { isResolved } }
      }
    }
  }
}`

const issuesQuery = `query($text: String!, $after: String) {
  search(query: $text, type: ISSUE, first: 50, after: $after) {
    pageInfo { hasNextPage endCursor }
    nodes { ... on Issue { number title repository { nameWithOwner } } }
  }
}`

type pull struct {
	Number         int    `json:"number"`
	Title          string `json:"title"`
	Mergeable      string `json:"mergeable"`
	ReviewDecision string `json:"reviewDecision"`
	Repository     struct {
		Name     string `json:"nameWithOwner"`
		Archived bool   `json:"isArchived"`
	} `json:"repository"`
	Commits struct {
		Nodes []struct {
			Commit struct {
				Rollup *struct {
					State string `json:"state"`
				} `json:"statusCheckRollup"`
			} `json:"commit"`
		} `json:"nodes"`
	} `json:"commits"`
	Threads struct {
		Nodes []struct {
			Resolved bool `json:"isResolved"`
		} `json:"nodes"`
	} `json:"reviewThreads"`
}

// problem names the problem of a pull request; "" for none.
func (p pull) problem() forge.TaskType {
	if p.Mergeable == "CONFLICTING" {
		return forge.MergeConflicts
	}
	for _, c := range p.Commits.Nodes {
		if r := c.Commit.Rollup; r != nil && (r.State == "FAILURE" || r.State == "ERROR") {
			return forge.FailingChecks
		}
	}
	for _, t := range p.Threads.Nodes {
		if !t.Resolved {
			return forge.UnresolvedComments
		}
	}
	if p.ReviewDecision == "CHANGES_REQUESTED" {
		return forge.UnresolvedComments
	}
	return ""
}

// Tasks implements [forge.Host].
func (h *Host) Tasks(ctx context.Context) ([]forge.Task, error) {
	var out []forge.Task
	login := ""
	for page, after := 0, any(nil); page < maxTasks; page++ {
		var data struct {
			Viewer struct {
				Login string `json:"login"`
				Pulls struct {
					PageInfo pageInfo `json:"pageInfo"`
					Nodes    []pull   `json:"nodes"`
				} `json:"pullRequests"`
			} `json:"viewer"`
		}
		if err := h.graphql.GraphQL(ctx, "/graphql", pullsQuery, map[string]any{"after": after}, &data); err != nil {
			return nil, err
		}
		login = data.Viewer.Login
		for _, p := range data.Viewer.Pulls.Nodes {
			if t := p.problem(); t != "" && !p.Repository.Archived {
				out = append(out, forge.Task{Type: t, Repository: p.Repository.Name, Number: p.Number, Title: p.Title})
			}
		}
		if !data.Viewer.Pulls.PageInfo.HasNextPage {
			break
		}
		after = data.Viewer.Pulls.PageInfo.EndCursor
	}
	for page, after := 0, any(nil); page < maxTasks; page++ {
		var data struct {
			Search struct {
				PageInfo pageInfo `json:"pageInfo"`
				Nodes    []struct {
					Number     int    `json:"number"`
					Title      string `json:"title"`
					Repository struct {
						Name string `json:"nameWithOwner"`
					} `json:"repository"`
				} `json:"nodes"`
			} `json:"search"`
		}
		text := "is:issue is:open archived:false assignee:" + login
		if err := h.graphql.GraphQL(ctx, "/graphql", issuesQuery, map[string]any{"text": text, "after": after}, &data); err != nil {
			return nil, err
		}
		for _, i := range data.Search.Nodes {
			out = append(out, forge.Task{Type: forge.OpenIssue, Repository: i.Repository.Name, Number: i.Number, Title: i.Title})
		}
		if !data.Search.PageInfo.HasNextPage {
			break
		}
		after = data.Search.PageInfo.EndCursor
	}
	return out, nil
}
