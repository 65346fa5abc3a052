// Package gitea is the adapter of Forgejo and Gitea (https://forgejo.org/docs/latest/user/api-usage/,
// https://docs.gitea.com/api/).
//
// # Usage
//
//	host := gitea.New(exchange.Endpoint{Web: base, Token: token, HTTP: client, Limits: limits})
//
// # Concurrency and failure
//
// As package forge says.
package gitea

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/forge"
	"github.com/deft-dev/deft/forge/exchange"
)

const standard = "https://codeberg.org"

// maxPage is the longest page, unless a server is configured otherwise.
const maxPage = 50

// Host is a Forgejo or Gitea server as one account sees it.
type Host struct {
	c     *exchange.Client
	web   *url.URL
	token string
}

// New returns the host of an account, at Codeberg if the endpoint names no other.
func New(e exchange.Endpoint) *Host {
	head := http.Header{"User-Agent": {"deft"}}
	if e.Token != "" {
		head.Set("Authorization", "token "+e.Token)
	}
	return &Host{
		web: e.At(standard, ""), token: e.Token,
		c: exchange.New(exchange.Options{Name: "Forgejo", Base: e.At(standard, "api/v1"), Header: head, Secret: e.Token, HTTP: e.HTTP, Limits: e.Limits, PageSize: "limit", MaxPage: maxPage}),
	}
}

// Provider implements [forge.Host].
func (h *Host) Provider() forge.Provider { return forge.Forgejo }

// User implements [forge.Host].
func (h *Host) User(ctx context.Context) (forge.User, error) {
	var u struct {
		ID        int64  `json:"id"`
		Login     string `json:"login"`
		FullName  string `json:"full_name"`
		Email     string `json:"email"`
		AvatarURL string `json:"avatar_url"`
	}
	_, err := h.c.Get(ctx, "/user", nil, &u)
	return forge.User{ID: strconv.FormatInt(u.ID, 10), Login: u.Login, AvatarURL: u.AvatarURL, Name: u.FullName, Email: u.Email}, err
}

// Accounts implements [forge.Host].
func (h *Host) Accounts(ctx context.Context) ([]string, error) {
	u, err := h.User(ctx)
	if err != nil {
		return nil, err
	}
	type organisation struct {
		Name string `json:"username"`
	}
	organisations, err := exchange.All(ctx, h.c, "/user/orgs", url.Values{}, func(o organisation) string { return o.Name })
	return append([]string{u.Login}, organisations...), err
}

type repository struct {
	ID            int64  `json:"id"`
	FullName      string `json:"full_name"`
	Private       bool   `json:"private"`
	Stars         int    `json:"stars_count"`
	UpdatedAt     string `json:"updated_at"`
	DefaultBranch string `json:"default_branch"`
	Empty         bool   `json:"empty"`
	Owner         struct {
		Login string `json:"login"`
	} `json:"owner"`
}

// domain is a repository as package forge has it. Gitea does not say whether an owner is an
// organisation.
func (r repository) domain(user string) forge.Repository {
	out := forge.Repository{
		ID: strconv.FormatInt(r.ID, 10), FullName: r.FullName, Public: !r.Private, Stars: r.Stars, PushedAt: r.UpdatedAt,
		MainBranch: r.DefaultBranch, OfOrganisation: user != "" && !strings.EqualFold(user, r.Owner.Login),
	}
	if r.Empty {
		out.MainBranch = ""
	}
	return out
}

// orders are Gitea's names of the orders.
var orders = map[forge.Sort]string{
	forge.ByPush: "updated", forge.ByUpdate: "updated", forge.ByStars: "stars", forge.ByForks: "forks", forge.ByName: "alpha",
}

// Repositories implements [forge.Host].
func (h *Host) Repositories(ctx context.Context, q forge.RepositoryQuery) (out forge.List[forge.Repository], err error) {
	u, err := h.User(ctx)
	if err != nil {
		return out, err
	}
	v := url.Values{"sort": {"updated"}, "order": {"desc"}}
	if by := orders[q.Sort]; by != "" {
		v.Set("sort", by)
	}
	if q.Ascending {
		v.Set("order", "asc")
	}
	text, account := q.Text, q.Account
	if owner, name, ok := strings.Cut(text, "/"); ok && owner != "" {
		text, account = name, owner
	}
	if text != "" {
		v.Set("q", text)
	}
	switch {
	case account == "" || strings.EqualFold(account, u.Login):
		v.Set("uid", u.ID)
		if account != "" {
			v.Set("exclusive", "true")
		}
	default:
		var of struct {
			ID int64 `json:"id"`
		}
		if _, err := h.c.Get(ctx, exchange.Path("users", account), nil, &of); err != nil {
			return out, err
		}
		v.Set("uid", strconv.FormatInt(of.ID, 10))
		v.Set("exclusive", "true")
	}
	var found struct {
		Data []repository `json:"data"`
	}
	out.Next, err = h.c.Page(ctx, "/repos/search", v, q.Page, &found)
	for _, r := range found.Data {
		out.Items = append(out.Items, r.domain(u.Login))
	}
	return out, err
}

// path is a repository's path in REST.
func path(name string, below ...string) (string, error) {
	owner, repo, err := forge.SplitName(name)
	return exchange.Path(append([]string{"repos", owner, repo}, below...)...), err
}

// Repository implements [forge.Host].
func (h *Host) Repository(ctx context.Context, name string) (forge.Repository, error) {
	at, err := path(name)
	if err != nil {
		return forge.Repository{}, err
	}
	var r repository
	_, err = h.c.Get(ctx, at, nil, &r)
	return r.domain(""), err
}

// Branches implements [forge.Host]. Gitea does not search branches: with a text, all are
// looked through, and are one page.
func (h *Host) Branches(ctx context.Context, repository, text string, p forge.Page) (out forge.List[forge.Branch], err error) {
	if text == "" {
		return h.branches(ctx, repository, p)
	}
	all, err := forge.All(func(p forge.Page) (forge.List[forge.Branch], error) { return h.branches(ctx, repository, p) })
	if err != nil {
		return out, err
	}
	all = slices.DeleteFunc(all, func(b forge.Branch) bool { return !strings.Contains(strings.ToLower(b.Name), strings.ToLower(text)) })
	n, size, err := p.Number()
	if err != nil {
		return out, err
	}
	from := min((n-1)*size, len(all))
	to := min(from+size, len(all))
	out.Items = all[from:to]
	if to < len(all) {
		out.Next = forge.PageToken(n+1, size)
	}
	return out, nil
}

func (h *Host) branches(ctx context.Context, repository string, p forge.Page) (out forge.List[forge.Branch], err error) {
	at, err := path(repository, "branches")
	if err != nil {
		return out, err
	}
	type branch struct {
		Name      string `json:"name"`
		Protected bool   `json:"protected"`
		Commit    struct {
			ID        string `json:"id"`
			Timestamp string `json:"timestamp"`
		} `json:"commit"`
	}
	return exchange.List(ctx, h.c, at, url.Values{}, p, func(b branch) forge.Branch {
		return forge.Branch{Name: b.Name, Commit: b.Commit.ID, Protected: b.Protected, PushedAt: b.Commit.Timestamp}
	})
}

// Propose implements [forge.Host].
func (h *Host) Propose(ctx context.Context, p forge.Proposal) (forge.PullRequest, error) {
	at, err := path(p.Repository, "pulls")
	if err != nil {
		return forge.PullRequest{}, err
	}
	title := p.Title
	if p.Draft && !strings.HasPrefix(title, "WIP:") {
		title = "WIP: " + title
	}
	body := map[string]any{"title": title, "head": p.Source, "base": p.Target, "body": p.Description}
	if len(p.Labels) > 0 {
		if body["labels"], err = h.labels(ctx, p.Repository, p.Labels); err != nil {
			return forge.PullRequest{}, err
		}
	}
	var made struct {
		Number int    `json:"number"`
		URL    string `json:"html_url"`
	}
	err = h.c.Post(ctx, at, body, &made)
	if fault.Is(err, fault.NotFound) { // without a reason
		err = fault.New(fault.NotFound, "there is no branch "+p.Source+" or "+p.Target+" in "+p.Repository+", or the token may not see the repository").
			Because(err).Hint("push the branch first")
	}
	return forge.PullRequest{Number: made.Number, URL: made.URL}, err
}

// labels returns the ids of labels.
func (h *Host) labels(ctx context.Context, repository string, names []string) ([]int64, error) {
	at, err := path(repository, "labels")
	if err != nil {
		return nil, err
	}
	type label struct {
		ID   int64  `json:"id"`
		Name string `json:"name"`
	}
	all, err := exchange.All(ctx, h.c, at, url.Values{}, func(l label) label { return l })
	if err != nil {
		return nil, err
	}
	var ids []int64
	for _, name := range names {
		i := slices.IndexFunc(all, func(l label) bool { return strings.EqualFold(l.Name, name) })
		if i < 0 {
			return nil, fault.New(fault.Invalid, "the repository "+repository+" has no label "+name)
		}
		ids = append(ids, all[i].ID)
	}
	return ids, nil
}

// Clone implements [forge.Host].
func (h *Host) Clone(repository string) (url, user, password string) {
	return h.web.JoinPath(repository).String() + ".git", "x-access-token", h.token
}
