// Package bitbucket is the adapter of Bitbucket Cloud
// (https://developer.atlassian.com/cloud/bitbucket/rest/intro/).
//
// # Usage
//
//	host := bitbucket.New(exchange.Endpoint{Token: token, HTTP: client, Limits: limits})
//
// A token with a colon is a user, or an e-mail address, and an app password or API token.
// Workspaces are the organisations. Lists over all workspaces ask one after the other:
// Bitbucket has no such list any more (change notice CHANGE-2770).
//
// # Concurrency and failure
//
// As package forge says.
package bitbucket

import (
	"cmp"
	"context"
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/deft-dev/deft/forge"
	"github.com/deft-dev/deft/forge/exchange"
)

const (
	standard = "https://bitbucket.org"
	api      = "https://api.bitbucket.org"
)

// Host is Bitbucket as one account sees it.
type Host struct {
	c   *exchange.Client
	web *url.URL
	// For Git.
	user, password string
}

// New returns the host of an account. A host of one's own is a gateway in front of
// Bitbucket Cloud, with its API at /2.0.
func New(e exchange.Endpoint) *Host {
	head := http.Header{"User-Agent": {"deft"}}
	user, password, pair := strings.Cut(e.Token, ":")
	switch {
	case pair:
		head.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(e.Token)))
	case e.Token != "":
		user, password = "x-token-auth", e.Token
		head.Set("Authorization", "Bearer "+e.Token)
	}
	if strings.Contains(user, "@") { // API tokens of an account: Git wants no e-mail address
		user = "x-bitbucket-api-token-auth"
	}
	return &Host{
		web: e.At(standard, ""), user: user, password: password,
		c: exchange.New(exchange.Options{Name: "Bitbucket", Base: e.At(api, "2.0"), Header: head, Secret: password, HTTP: e.HTTP, Limits: e.Limits}),
	}
}

// Provider implements [forge.Host].
func (h *Host) Provider() forge.Provider { return forge.Bitbucket }

type user struct {
	AccountID   string `json:"account_id"`
	UUID        string `json:"uuid"`
	Username    string `json:"username"`
	DisplayName string `json:"display_name"`
	Links       struct {
		Avatar struct {
			Href string `json:"href"`
		} `json:"avatar"`
	} `json:"links"`
}

func (h *Host) self(ctx context.Context) (u user, err error) {
	_, err = h.c.Get(ctx, "/user", nil, &u)
	return u, err
}

// User implements [forge.Host].
func (h *Host) User(ctx context.Context) (forge.User, error) {
	u, err := h.self(ctx)
	id := u.AccountID
	id = cmp.Or(id, u.UUID)
	return forge.User{ID: id, Login: u.Username, AvatarURL: u.Links.Avatar.Href, Name: u.DisplayName}, err
}

// Accounts implements [forge.Host]: the workspaces, one of which may be the user's own.
func (h *Host) Accounts(ctx context.Context) ([]string, error) {
	return forge.All(func(p forge.Page) (forge.List[string], error) {
		type access struct {
			Workspace struct {
				Slug string `json:"slug"`
			} `json:"workspace"`
		}
		found, err := list[access](ctx, h, "/user/workspaces", url.Values{}, p)
		out := forge.List[string]{Next: found.Next}
		for _, a := range found.Items {
			out.Items = append(out.Items, a.Workspace.Slug)
		}
		return out, err
	})
}

// list reads one page of a list.
func list[T any](ctx context.Context, h *Host, path string, q url.Values, p forge.Page) (out forge.List[T], err error) {
	at, err := positionOf(p)
	if err != nil {
		return out, err
	}
	q.Set("pagelen", strconv.Itoa(at.size))
	q.Set("page", strconv.Itoa(at.number))
	if at.number == 0 {
		q.Del("page")
	}
	for name := range at.cursor {
		q.Set(name, at.cursor.Get(name))
	}
	var page struct {
		Values []T    `json:"values"`
		Next   string `json:"next"`
	}
	_, err = h.c.Get(ctx, path, q, &page)
	out.Items = page.Values
	if err == nil && page.Next != "" {
		out.Next, err = at.next(page.Next)
	}
	return out, err
}

type repository struct {
	UUID      string `json:"uuid"`
	FullName  string `json:"full_name"`
	Private   bool   `json:"is_private"`
	UpdatedOn string `json:"updated_on"`
	Main      *struct {
		Name string `json:"name"`
	} `json:"mainbranch"`
	Owner struct {
		Type string `json:"type"`
	} `json:"owner"`
}

func (r repository) domain() forge.Repository {
	out := forge.Repository{ID: r.UUID, FullName: r.FullName, Public: !r.Private, PushedAt: r.UpdatedOn, OfOrganisation: r.Owner.Type != "user"}
	if r.Main != nil {
		out.MainBranch = r.Main.Name
	}
	return out
}

// quoted is a text in a filter of Bitbucket.
func quoted(s string) string {
	return `"` + strings.Map(func(r rune) rune {
		if r == '"' || r == '\\' || r < ' ' {
			return -1
		}
		return r
	}, s) + `"`
}

// Repositories implements [forge.Host]. Bitbucket sorts by change and by name, and has no
// stars. Over all workspaces, the token of a page names the workspace.
func (h *Host) Repositories(ctx context.Context, q forge.RepositoryQuery) (out forge.List[forge.Repository], err error) {
	v := url.Values{"sort": {"-updated_on"}, "role": {"member"}}
	if q.Sort == forge.ByName {
		v.Set("sort", "-full_name")
	}
	if q.Ascending {
		v.Set("sort", strings.TrimPrefix(v.Get("sort"), "-"))
	}
	account, text := q.Account, q.Text
	if owner, name, ok := strings.Cut(text, "/"); ok && owner != "" {
		account, text = owner, name
	}
	if text != "" {
		v.Set("q", "name ~ "+quoted(text))
	}
	if account != "" {
		return h.repositories(ctx, account, v, q.Page)
	}
	accounts, err := h.Accounts(ctx)
	if err != nil {
		return out, err
	}
	first, err := positionOf(forge.Page{Size: q.Page.Size})
	if err != nil {
		return out, err
	}
	size := first.size
	at, token, _ := strings.Cut(q.Page.Token, "/")
	if at == "" && len(accounts) > 0 {
		at = accounts[0]
	}
	for i := slices.Index(accounts, at); i >= 0 && i < len(accounts); i++ {
		page, err := h.repositories(ctx, accounts[i], v, forge.Page{Token: token, Size: q.Page.Size})
		if err != nil {
			return out, err
		}
		out.Items = append(out.Items, page.Items...)
		if page.Next != "" {
			out.Next = accounts[i] + "/" + page.Next
			return out, nil
		}
		if token != "" { // the next workspace has pages of the same size
			was, err := positionOf(forge.Page{Token: token})
			if err != nil {
				return out, err
			}
			size = was.size
		}
		if token = forge.PageToken(1, size); len(out.Items) > 0 && i+1 < len(accounts) {
			out.Next = accounts[i+1] + "/" + token
			return out, nil
		}
	}
	return out, nil
}

func (h *Host) repositories(ctx context.Context, workspace string, v url.Values, p forge.Page) (out forge.List[forge.Repository], err error) {
	found, err := list[repository](ctx, h, exchange.Path("repositories", workspace), v, p)
	out.Next = found.Next
	for _, r := range found.Items {
		out.Items = append(out.Items, r.domain())
	}
	return out, err
}

// path is a repository's path in REST.
func path(name string, below ...string) (string, error) {
	owner, repo, err := forge.SplitName(name)
	return exchange.Path(append([]string{"repositories", owner, repo}, below...)...), err
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

// Branches implements [forge.Host]. Bitbucket says elsewhere, to administrators, which are
// protected.
func (h *Host) Branches(ctx context.Context, repository, text string, p forge.Page) (out forge.List[forge.Branch], err error) {
	at, err := path(repository, "refs", "branches")
	if err != nil {
		return out, err
	}
	type branch struct {
		Name   string `json:"name"`
		Target struct {
			Hash string `json:"hash"`
			Date string `json:"date"`
		} `json:"target"`
	}
	q := url.Values{}
	if text != "" {
		q.Set("q", "name ~ "+quoted(text))
	}
	found, err := list[branch](ctx, h, at, q, p)
	out.Next = found.Next
	for _, b := range found.Items {
		out.Items = append(out.Items, forge.Branch{Name: b.Name, Commit: b.Target.Hash, PushedAt: b.Target.Date})
	}
	return out, err
}

// Propose implements [forge.Host]. Bitbucket has no labels.
func (h *Host) Propose(ctx context.Context, p forge.Proposal) (forge.PullRequest, error) {
	at, err := path(p.Repository, "pullrequests")
	if err != nil {
		return forge.PullRequest{}, err
	}
	branch := func(name string) any { return map[string]any{"branch": map[string]any{"name": name}} }
	var made struct {
		ID    int `json:"id"`
		Links struct {
			HTML struct {
				Href string `json:"href"`
			} `json:"html"`
		} `json:"links"`
	}
	err = h.c.Post(ctx, at, map[string]any{
		"title": p.Title, "description": p.Description, "draft": p.Draft, "source": branch(p.Source), "destination": branch(p.Target),
	}, &made)
	pr := forge.PullRequest{Number: made.ID, URL: made.Links.HTML.Href}
	if err == nil && len(p.Labels) > 0 {
		pr.Warning = "Bitbucket has no labels"
	}
	return pr, err
}

// Clone implements [forge.Host].
func (h *Host) Clone(repository string) (url, user, password string) {
	return h.web.JoinPath(repository).String() + ".git", h.user, h.password
}
