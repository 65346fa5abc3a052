// Package gitlab is the adapter of GitLab (https://docs.gitlab.com/api/rest/).
//
// # Usage
//
//	host := gitlab.New(exchange.Endpoint{Web: base, Token: token, HTTP: client, Limits: limits})
//
// Groups are the organisations, projects the repositories: their full names may have more
// than two parts. Merge requests and issues are numbered within their project (iid).
//
// # Concurrency and failure
//
// As package forge says.
package gitlab

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/deft-dev/deft/forge"
	"github.com/deft-dev/deft/forge/exchange"
)

const standard = "https://gitlab.com"

// Host is GitLab as one account sees it.
type Host struct {
	c, graphql *exchange.Client
	web        *url.URL
	token      string
}

// New returns the host of an account.
func New(e exchange.Endpoint) *Host {
	head := http.Header{"User-Agent": {"deft"}}
	if e.Token != "" { // of OAuth or a personal one: both are taken so
		head.Set("Authorization", "Bearer "+e.Token)
	}
	o := exchange.Options{Name: "GitLab", Base: e.At(standard, "api/v4"), Header: head, Secret: e.Token, HTTP: e.HTTP, Limits: e.Limits}
	h := &Host{web: e.At(standard, ""), token: e.Token, c: exchange.New(o)}
	o.Base = e.At(standard, "api")
	h.graphql = exchange.New(o)
	return h
}

// Provider implements [forge.Host].
func (h *Host) Provider() forge.Provider { return forge.GitLab }

// User implements [forge.Host].
func (h *Host) User(ctx context.Context) (forge.User, error) {
	var u struct {
		ID           int64  `json:"id"`
		Username     string `json:"username"`
		Name         string `json:"name"`
		AvatarURL    string `json:"avatar_url"`
		Email        string `json:"email"`
		Organization string `json:"organization"`
	}
	_, err := h.c.Get(ctx, "/user", nil, &u)
	return forge.User{ID: strconv.FormatInt(u.ID, 10), Login: u.Username, AvatarURL: u.AvatarURL, Name: u.Name, Company: u.Organization, Email: u.Email}, err
}

// Accounts implements [forge.Host].
func (h *Host) Accounts(ctx context.Context) ([]string, error) {
	u, err := h.User(ctx)
	if err != nil {
		return nil, err
	}
	type group struct {
		FullPath string `json:"full_path"`
	}
	groups, err := exchange.All(ctx, h.c, "/groups", url.Values{"min_access_level": {"10"}}, func(g group) string { return g.FullPath })
	return append([]string{u.Login}, groups...), err
}

// project is a repository.
type project struct {
	ID                int64  `json:"id"`
	PathWithNamespace string `json:"path_with_namespace"`
	Visibility        string `json:"visibility"`
	Stars             int    `json:"star_count"`
	LastActivity      string `json:"last_activity_at"`
	DefaultBranch     string `json:"default_branch"`
	Namespace         struct {
		Kind string `json:"kind"`
	} `json:"namespace"`
}

func (p project) domain() forge.Repository {
	return forge.Repository{
		ID: strconv.FormatInt(p.ID, 10), FullName: p.PathWithNamespace, Public: p.Visibility == "public", Stars: p.Stars,
		PushedAt: p.LastActivity, MainBranch: p.DefaultBranch, OfOrganisation: p.Namespace.Kind == "group",
	}
}

// orders are GitLab's names of the orders.
var orders = map[forge.Sort]string{
	forge.ByPush: "last_activity_at", forge.ByUpdate: "last_activity_at", forge.ByStars: "star_count", forge.ByName: "path",
}

// Repositories implements [forge.Host].
func (h *Host) Repositories(ctx context.Context, q forge.RepositoryQuery) (out forge.List[forge.Repository], err error) {
	v := url.Values{"order_by": {"last_activity_at"}, "sort": {"desc"}}
	if by := orders[q.Sort]; by != "" {
		v.Set("order_by", by)
	}
	if q.Ascending {
		v.Set("sort", "asc")
	}
	if q.Text != "" {
		v.Set("search", q.Text)
		if strings.Contains(q.Text, "/") {
			v.Set("search_namespaces", "true")
		}
	}
	path := "/projects"
	v.Set("membership", "true")
	if q.Account != "" {
		u, err := h.User(ctx)
		if err != nil {
			return out, err
		}
		if v.Del("membership"); strings.EqualFold(u.Login, q.Account) {
			path = exchange.Path("users", u.ID, "projects")
		} else {
			path = "/groups/" + url.PathEscape(q.Account) + "/projects"
			v.Set("include_subgroups", "true")
		}
	}
	if v.Get("order_by") == "star_count" && path != "/projects" && !strings.HasPrefix(path, "/groups/") {
		v.Set("order_by", "last_activity_at")
	}
	return exchange.List(ctx, h.c, path, v, q.Page, project.domain)
}

// path is a project's path in REST, by its name or its number.
func path(name string, below ...string) (string, error) {
	_, _, err := forge.SplitName(name)
	if _, bad := strconv.ParseUint(name, 10, 64); bad == nil {
		err = nil
	}
	return "/projects/" + url.PathEscape(name) + exchange.Path(below...), err
}

// Repository implements [forge.Host].
func (h *Host) Repository(ctx context.Context, name string) (forge.Repository, error) {
	at, err := path(name)
	if err != nil {
		return forge.Repository{}, err
	}
	var p project
	_, err = h.c.Get(ctx, at, nil, &p)
	return p.domain(), err
}

// Branches implements [forge.Host].
func (h *Host) Branches(ctx context.Context, repository, text string, p forge.Page) (out forge.List[forge.Branch], err error) {
	at, err := path(repository, "repository", "branches")
	if err != nil {
		return out, err
	}
	q := url.Values{}
	if text != "" {
		q.Set("search", text)
	}
	type branch struct {
		Name      string `json:"name"`
		Protected bool   `json:"protected"`
		Commit    struct {
			ID            string `json:"id"`
			CommittedDate string `json:"committed_date"`
		} `json:"commit"`
	}
	return exchange.List(ctx, h.c, at, q, p, func(b branch) forge.Branch {
		return forge.Branch{Name: b.Name, Commit: b.Commit.ID, Protected: b.Protected, PushedAt: b.Commit.CommittedDate}
	})
}

// Propose implements [forge.Host].
func (h *Host) Propose(ctx context.Context, p forge.Proposal) (forge.PullRequest, error) {
	at, err := path(p.Repository, "merge_requests")
	if err != nil {
		return forge.PullRequest{}, err
	}
	title := p.Title
	if p.Draft && !strings.HasPrefix(title, "Draft:") {
		title = "Draft: " + title
	}
	body := map[string]any{"source_branch": p.Source, "target_branch": p.Target, "title": title, "description": p.Description}
	if len(p.Labels) > 0 {
		body["labels"] = strings.Join(p.Labels, ",")
	}
	var made struct {
		IID int    `json:"iid"`
		URL string `json:"web_url"`
	}
	err = h.c.Post(ctx, at, body, &made)
	return forge.PullRequest{Number: made.IID, URL: made.URL}, err
}

// Clone implements [forge.Host].
func (h *Host) Clone(repository string) (url, user, password string) {
	return h.web.JoinPath(repository).String() + ".git", "oauth2", h.token
}
