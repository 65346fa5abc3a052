// Package github is the adapter of GitHub and GitHub Enterprise Server
// (https://docs.github.com/en/rest, https://docs.github.com/en/graphql).
//
// # Usage
//
//	host := github.New(exchange.Endpoint{Token: token, HTTP: client, Limits: limits})
//
// REST lists and changes; GraphQL serves questions that would take REST a request for
// each item: the state of pull requests, and branches by a part of their names.
//
// # Concurrency and failure
//
// As package forge says.
package github

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/deft-dev/deft/forge"
	"github.com/deft-dev/deft/forge/exchange"
)

const (
	standard = "https://github.com"
	api      = "https://api.github.com"
	version  = "2022-11-28"
)

// Host is GitHub as one account sees it.
type Host struct {
	c, graphql *exchange.Client
	web        *url.URL
	token      string
}

// New returns the host of an account.
func New(e exchange.Endpoint) *Host {
	h := &Host{web: e.At(standard, ""), token: e.Token}
	rest, _ := url.Parse(api) // a constant
	graphql := rest
	switch {
	case e.Web == nil:
	case strings.HasSuffix(e.Web.Hostname(), ".ghe.com"): // Enterprise Cloud with data residency
		rest = &url.URL{Scheme: e.Web.Scheme, Host: "api." + e.Web.Host}
		graphql = rest
	default:
		rest, graphql = e.At(standard, "api/v3"), e.At(standard, "api")
	}
	head := http.Header{"Accept": {"application/vnd.github+json"}, "X-Github-Api-Version": {version}, "User-Agent": {"deft"}}
	if e.Token != "" {
		head.Set("Authorization", "Bearer "+e.Token)
	}
	o := exchange.Options{Name: "GitHub", Base: rest, Header: head, Secret: e.Token, HTTP: e.HTTP, Limits: e.Limits}
	h.c = exchange.New(o)
	o.Base = graphql
	h.graphql = exchange.New(o)
	return h
}

// Provider implements [forge.Host].
func (h *Host) Provider() forge.Provider { return forge.GitHub }

// User implements [forge.Host].
func (h *Host) User(ctx context.Context) (forge.User, error) {
	var u struct {
		ID        int64  `json:"id"`
		Login     string `json:"login"`
		AvatarURL string `json:"avatar_url"`
		Name      string `json:"name"`
		Company   string `json:"company"`
		Email     string `json:"email"`
	}
	_, err := h.c.Get(ctx, "/user", nil, &u)
	return forge.User{ID: strconv.FormatInt(u.ID, 10), Login: u.Login, AvatarURL: u.AvatarURL, Name: u.Name, Company: u.Company, Email: u.Email}, err
}

// Accounts implements [forge.Host].
func (h *Host) Accounts(ctx context.Context) ([]string, error) {
	u, err := h.User(ctx)
	if err != nil {
		return nil, err
	}
	type organisation struct {
		Login string `json:"login"`
	}
	organisations, err := exchange.All(ctx, h.c, "/user/orgs", url.Values{}, func(o organisation) string { return o.Login })
	return append([]string{u.Login}, organisations...), err
}

// repository is the REST form, as far as it is used.
type repository struct {
	ID            int64  `json:"id"`
	FullName      string `json:"full_name"`
	Private       bool   `json:"private"`
	Stars         int    `json:"stargazers_count"`
	PushedAt      string `json:"pushed_at"`
	DefaultBranch string `json:"default_branch"`
	Owner         struct {
		Type string `json:"type"`
	} `json:"owner"`
}

func (r repository) domain() forge.Repository {
	return forge.Repository{
		ID: strconv.FormatInt(r.ID, 10), FullName: r.FullName, Public: !r.Private, Stars: r.Stars, PushedAt: r.PushedAt,
		MainBranch: r.DefaultBranch, OfOrganisation: r.Owner.Type == "Organization",
	}
}

func order(q forge.RepositoryQuery) string {
	if q.Ascending {
		return "asc"
	}
	return "desc"
}

// Repositories implements [forge.Host]. Without a text, the repositories of an account
// can be sorted by push, update and name.
func (h *Host) Repositories(ctx context.Context, q forge.RepositoryQuery) (forge.List[forge.Repository], error) {
	if q.Text != "" {
		return h.search(ctx, q)
	}
	v := url.Values{"sort": {string(forge.ByPush)}, "direction": {order(q)}}
	if slices.Contains([]forge.Sort{forge.ByUpdate, forge.ByName}, q.Sort) {
		v.Set("sort", string(q.Sort))
	}
	path := "/user/repos"
	if q.Account != "" {
		u, err := h.User(ctx)
		if err != nil {
			return forge.List[forge.Repository]{}, err
		}
		if path = "/orgs/" + url.PathEscape(q.Account) + "/repos"; strings.EqualFold(u.Login, q.Account) {
			path = "/user/repos"
			v.Set("affiliation", "owner")
		}
	}
	return exchange.List(ctx, h.c, path, v, q.Page, repository.domain)
}

// maxSearched is how many results of one search GitHub shows.
const maxSearched = 1000

// search searches the repositories of the user and of the user's organisations, or of
// the owner that the text names.
func (h *Host) search(ctx context.Context, q forge.RepositoryQuery) (forge.List[forge.Repository], error) {
	text, accounts := q.Text, []string{q.Account}
	if owner, name, ok := strings.Cut(text, "/"); ok && owner != "" {
		text, accounts = name, []string{owner}
	} else if q.Account == "" {
		var err error
		if accounts, err = h.Accounts(ctx); err != nil {
			return forge.List[forge.Repository]{}, err
		}
	}
	terms := []string{`"` + strings.Map(plain, text) + `"`, "in:name", "fork:true"}
	for _, a := range accounts {
		terms = append(terms, "user:"+strings.Map(word, a))
	}
	v := url.Values{"q": {strings.Join(terms, " ")}, "order": {order(q)}}
	if slices.Contains([]forge.Sort{forge.ByStars, forge.ByForks}, q.Sort) {
		v.Set("sort", string(q.Sort))
	} else if q.Sort != "" {
		v.Set("sort", "updated")
	}
	var found struct {
		Items []repository `json:"items"`
	}
	var out forge.List[forge.Repository]
	var err error
	out.Next, err = h.c.Page(ctx, "/search/repositories", v, q.Page, &found)
	if n, size, bad := q.Page.Number(); bad == nil && n*size >= maxSearched {
		out.Next = ""
	}
	for _, r := range found.Items {
		out.Items = append(out.Items, r.domain())
	}
	return out, err
}

// plain drops the characters that would end a quoted term of a search, word the
// characters that would end a word.
func plain(r rune) rune {
	if r == '"' || r == '\\' || r < ' ' {
		return -1
	}
	return r
}

func word(r rune) rune {
	if r <= ' ' || r == '"' || r == '\\' || r == ':' {
		return -1
	}
	return r
}

// Repository implements [forge.Host].
func (h *Host) Repository(ctx context.Context, name string) (forge.Repository, error) {
	at, err := path(name)
	if err != nil {
		return forge.Repository{}, err
	}
	var r repository
	_, err = h.c.Get(ctx, at, nil, &r)
	return r.domain(), err
}

// path is a repository's path in REST.
func path(name string, below ...string) (string, error) {
	owner, repo, err := forge.SplitName(name)
	return exchange.Path(append([]string{"repos", owner, repo}, below...)...), err
}

// Branches implements [forge.Host].
func (h *Host) Branches(ctx context.Context, repository, text string, p forge.Page) (forge.List[forge.Branch], error) {
	if text != "" {
		return h.searchBranches(ctx, repository, text, p)
	}
	at, err := path(repository, "branches")
	if err != nil {
		return forge.List[forge.Branch]{}, err
	}
	type branch struct {
		Name      string `json:"name"`
		Protected bool   `json:"protected"`
		Commit    struct {
			SHA string `json:"sha"`
		} `json:"commit"`
	}
	return exchange.List(ctx, h.c, at, url.Values{}, p, func(b branch) forge.Branch {
		return forge.Branch{Name: b.Name, Commit: b.Commit.SHA, Protected: b.Protected}
	})
}

// Propose implements [forge.Host].
func (h *Host) Propose(ctx context.Context, p forge.Proposal) (forge.PullRequest, error) {
	at, err := path(p.Repository, "pulls")
	if err != nil {
		return forge.PullRequest{}, err
	}
	var made struct {
		Number int    `json:"number"`
		URL    string `json:"html_url"`
	}
	if err := h.c.Post(ctx, at, map[string]any{"title": p.Title, "head": p.Source, "base": p.Target, "body": p.Description, "draft": p.Draft}, &made); err != nil {
		return forge.PullRequest{}, err
	}
	pr := forge.PullRequest{Number: made.Number, URL: made.URL}
	if len(p.Labels) > 0 {
		at, err = path(p.Repository, "issues", strconv.Itoa(made.Number), "labels")
		if err == nil {
			err = h.c.Post(ctx, at, map[string]any{"labels": p.Labels}, nil)
		}
		if err != nil { // the pull request exists
			pr.Warning = "the labels could not be added: " + err.Error()
		}
	}
	return pr, nil
}

// Clone implements [forge.Host].
func (h *Host) Clone(repository string) (url, user, password string) {
	return h.web.JoinPath(repository).String() + ".git", "x-access-token", h.token
}
