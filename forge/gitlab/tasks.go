package gitlab

import (
	"context"
	"net/url"
	"strings"

	"github.com/deft-dev/deft/forge"
	"github.com/deft-dev/deft/forge/exchange"
)

// maxPages bounds the pages of 50 merge requests that are looked at.
const maxPages = 6

const requestsQuery = `query($after: String) {
  currentUser {
    authoredMergeRequests(state: opened, first: 50, after: $after, sort: UPDATED_DESC) {
      pageInfo { hasNextPage endCursor }
      nodes {
        iid title conflicts
        project { fullPath archived }
        headPipeline { status }
        resolvableDiscussionsCount resolvedDiscussionsCount
      }
    }
  }
}`

type request struct {
	IID       int    `json:"iid,string"`
	Title     string `json:"title"`
	Conflicts bool   `json:"conflicts"`
	Project   struct {
		FullPath string `json:"fullPath"`
		Archived bool   `json:"archived"`
	} `json:"project"`
	Pipeline *struct {
		Status string `json:"status"`
	} `json:"headPipeline"`
	Resolvable int `json:"resolvableDiscussionsCount"`
	Resolved   int `json:"resolvedDiscussionsCount"`
}

func (r request) problem() forge.TaskType {
	switch {
	case r.Conflicts:
		return forge.MergeConflicts
	case r.Pipeline != nil && r.Pipeline.Status == "FAILED":
		return forge.FailingChecks
	case r.Resolvable > r.Resolved:
		return forge.UnresolvedComments
	}
	return ""
}

// Tasks implements [forge.Host].
func (h *Host) Tasks(ctx context.Context) ([]forge.Task, error) {
	var out []forge.Task
	for page, after := 0, any(nil); page < maxPages; page++ {
		var data struct {
			CurrentUser *struct {
				Requests struct {
					PageInfo struct {
						HasNextPage bool   `json:"hasNextPage"`
						EndCursor   string `json:"endCursor"`
					} `json:"pageInfo"`
					Nodes []request `json:"nodes"`
				} `json:"authoredMergeRequests"`
			} `json:"currentUser"`
		}
		if err := h.graphql.GraphQL(ctx, "/graphql", requestsQuery, map[string]any{"after": after}, &data); err != nil {
			return nil, err
		}
		if data.CurrentUser == nil {
			break
		}
		for _, r := range data.CurrentUser.Requests.Nodes {
			if t := r.problem(); t != "" && !r.Project.Archived {
				out = append(out, forge.Task{Type: t, Repository: r.Project.FullPath, Number: r.IID, Title: r.Title})
			}
		}
		if !data.CurrentUser.Requests.PageInfo.HasNextPage {
			break
		}
		after = data.CurrentUser.Requests.PageInfo.EndCursor
	}
	type issue struct {
		IID        int    `json:"iid"`
		Title      string `json:"title"`
		References struct {
			Full string `json:"full"`
		} `json:"references"`
	}
	assigned := url.Values{"scope": {"assigned_to_me"}, "state": {"opened"}, "non_archived": {"true"}}
	issues, err := exchange.All(ctx, h.c, "/issues", assigned, func(i issue) forge.Task {
		repository, _, _ := strings.Cut(i.References.Full, "#") // acme/api#4
		return forge.Task{Type: forge.OpenIssue, Repository: repository, Number: i.IID, Title: i.Title}
	})
	return append(out, issues...), err
}
