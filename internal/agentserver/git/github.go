package git

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/deft-dev/deft/internal/lazyregexp"
	"github.com/deft-dev/deft/internal/rest"
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

// providers are those of the reference, which searches the first only.
var providers = []string{"github", "gitlab", "bitbucket", "azure_devops"}

// tokenNames are the stored secrets that may contain a token, in the order of use (docs/openhands/sdk-wire-1.58.md section C.3).
var tokenNames = []string{"github_token", "GITHUB_TOKEN", "GH_TOKEN", "github"}

// github lists the repositories that a token can access.
type github struct {
	client *http.Client
	base   string
	token  string
}

const (
	gitHubAPI     = "https://api.github.com"
	gitHubPage    = 100
	gitHubTimeout = 15 * time.Second
	// gitHubWalk bounds the pages that one search with a filter requests.
	gitHubWalk = 100
	// gitHubBody bounds one page; a repository is some 7 KB.
	gitHubBody = 16 << 20
)

// search lists repositories; query filters by name.
func (g github) search(ctx context.Context, query string, limit int, pageID string) (Repositories, error) {
	found := Repositories{Items: []Repository{}}
	page, offset, err := parsePage(pageID)
	if err != nil {
		return found, err
	}
	for range gitHubWalk {
		items, next, err := g.page(ctx, page)
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
		if found.NextPageID = nil; next != "" {
			found.NextPageID = &next
		}
		if query == "" || next == "" || len(found.Items) >= limit {
			return found, nil
		}
		if page, offset, err = parsePage(next); err != nil {
			return found, err
		}
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

// page fetches one page and the number of the next.
func (g github) page(ctx context.Context, page int) (items []Repository, next string, err error) {
	ctx, cancel := context.WithTimeout(ctx, gitHubTimeout)
	defer cancel()
	query := url.Values{
		"per_page": {strconv.Itoa(gitHubPage)}, "page": {strconv.Itoa(page)}, "sort": {"pushed"},
		"affiliation": {"owner,collaborator,organization_member"},
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, g.base+"/user/repos?"+query.Encode(), nil)
	if err != nil {
		return nil, "", fmt.Errorf("ask GitHub: %w", err)
	}
	req.Header.Set("Accept", "application/vnd.github+json")
	req.Header.Set("Authorization", "Bearer "+g.token)
	req.Header.Set("X-GitHub-Api-Version", "2022-11-28")
	resp, err := g.client.Do(req)
	var network net.Error
	switch {
	case errors.As(err, &network) && network.Timeout():
		return nil, "", rest.Fail(http.StatusGatewayTimeout, "GitHub repository search timed out")
	case err != nil:
		return nil, "", rest.Fail(http.StatusBadGateway, "GitHub repository search failed")
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, "", rest.Fail(gitHubStatus(resp.StatusCode), "GitHub repository search failed")
	}
	var raw []struct {
		ID       json.Number `json:"id"`
		FullName string      `json:"full_name"`
		Private  bool        `json:"private"`
		Stars    *int        `json:"stargazers_count"`
		PushedAt *string     `json:"pushed_at"`
		Branch   *string     `json:"default_branch"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, gitHubBody)).Decode(&raw); err != nil {
		return nil, "", rest.Fail(http.StatusBadGateway, "GitHub repository search failed")
	}
	for _, r := range raw {
		items = append(items, Repository{
			ID: r.ID.String(), FullName: r.FullName, GitProvider: providers[0], IsPublic: !r.Private,
			Stars: r.Stars, PushedAt: r.PushedAt, MainBranch: r.Branch,
		})
	}
	return items, nextPage(resp.Header.Get("Link")), nil
}

func gitHubStatus(status int) int {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return status
	case status >= 500:
		return http.StatusBadGateway
	}
	return http.StatusBadRequest
}

var link = lazyregexp.New(`<([^>]+)>;\s*rel="next"`)

// nextPage reads the Link header (RFC 8288).
func nextPage(header string) string {
	m := link().FindStringSubmatch(header)
	if m == nil {
		return ""
	}
	u, err := url.Parse(m[1])
	if err != nil {
		return ""
	}
	return u.Query().Get("page")
}
