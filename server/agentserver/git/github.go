package git

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/forge"
	"github.com/deft-dev/deft/internal/optional"
	"github.com/deft-dev/deft/server/rest"
)

// Repository is a repository at a provider.
type Repository struct {
	ID          string  `json:"id"`
	FullName    string  `json:"full_name"`
	GitProvider string  `json:"git_provider"`
	IsPublic    bool    `json:"is_public"`
	Stars       *int    `json:"stargazers_count"`
	PushedAt    *string `json:"pushed_at"`
	MainBranch  *string `json:"main_branch"`
}

// Repositories is a page of them.
type Repositories struct {
	Items        []Repository `json:"items"`
	NextPageID   *string      `json:"next_page_id"`
	MissingToken bool         `json:"missing_token"`
}

// providers are the reference's, which searches the first only.
var providers = []string{"github", "gitlab", "bitbucket", "azure_devops"}

// tokenNames are the stored secrets that may contain a token, in the order of use (docs/openhands/sdk-wire-1.58.md section C.3).
var tokenNames = []string{"github_token", "GITHUB_TOKEN", "GH_TOKEN", "github"}

// maxWalk bounds the pages that one search with a filter requests.
const maxWalk = 100

// search lists the repositories of a host; query filters by name.
func search(ctx context.Context, h forge.Host, query string, limit int, pageID string) (Repositories, error) {
	found := Repositories{Items: []Repository{}}
	page, offset, err := parsePage(pageID)
	if err != nil {
		return found, err
	}
	for range maxWalk {
		items, more, err := pageOf(ctx, h, page)
		if err != nil {
			return found, err
		}
		kept := items[:0]
		for _, item := range items {
			if strings.Contains(strings.ToLower(item.FullName), strings.ToLower(query)) {
				kept = append(kept, item)
			}
		}
		kept = kept[min(offset, len(kept)):]
		space := limit - len(found.Items)
		if len(kept) > space {
			found.Items = append(found.Items, kept[:space]...)
			found.NextPageID = new(fmt.Sprintf("%d:%d", page, offset+space))
			return found, nil
		}
		found.Items = append(found.Items, kept...)
		if found.NextPageID = nil; more {
			found.NextPageID = new(strconv.Itoa(page + 1))
		}
		if query == "" || !more || len(found.Items) >= limit {
			return found, nil
		}
		page, offset = page+1, 0
	}
	return found, nil
}

// parsePage reads "page" or "page:offset".
func parsePage(id string) (page, offset int, err error) {
	if id == "" {
		return 1, 0, nil
	}
	p, o, has := strings.Cut(id, ":")
	page, err = strconv.Atoi(p)
	if has && o != "" && err == nil {
		offset, err = strconv.Atoi(o)
	}
	if err != nil || page < 1 || offset < 0 {
		return 0, 0, rest.Fail(http.StatusBadRequest, "Invalid repository page_id")
	}
	return page, offset, nil
}

// pageOf asks for one page.
func pageOf(ctx context.Context, h forge.Host, page int) (items []Repository, more bool, err error) {
	list, err := h.Repositories(ctx, forge.RepositoryQuery{Sort: forge.ByPush, Page: forge.Page{Token: forge.PageToken(page, forge.MaxPage)}})
	if err != nil {
		return nil, false, failed(err)
	}
	for _, r := range list.Items {
		items = append(items, Repository{
			ID: r.ID, FullName: r.FullName, GitProvider: providers[0], IsPublic: r.Public, Stars: new(r.Stars),
			PushedAt: optional.Of(r.PushedAt), MainBranch: optional.Of(r.MainBranch),
		})
	}
	return items, list.Next != "", nil
}

// failed gives an error of the host the reference's status.
func failed(err error) error {
	status, ok := map[fault.Kind]int{
		fault.Auth: http.StatusUnauthorized, fault.Denied: http.StatusForbidden, fault.RateLimit: http.StatusTooManyRequests,
		fault.Unavailable: http.StatusBadGateway, fault.Timeout: http.StatusGatewayTimeout,
	}[fault.KindOf(err)]
	switch {
	case fault.Is(err, fault.Canceled):
		return err
	case !ok:
		status = http.StatusBadRequest
	}
	if status == http.StatusGatewayTimeout {
		return rest.Fail(status, "GitHub repository search timed out")
	}
	return rest.Fail(status, "GitHub repository search failed: "+err.Error())
}
