package git

import (
	"github.com/deft-dev/deft/forge"
	"github.com/deft-dev/deft/internal/optional"
	"github.com/deft-dev/deft/server/rest"
)

// The contract's forms.

type repository struct {
	ID         string         `json:"id"`
	FullName   string         `json:"full_name"`
	Provider   forge.Provider `json:"git_provider"`
	Public     bool           `json:"is_public"`
	Stars      int            `json:"stargazers_count"`
	LinkHeader *string        `json:"link_header"`
	PushedAt   *string        `json:"pushed_at"`
	OwnerType  string         `json:"owner_type"`
	MainBranch *string        `json:"main_branch"`
}

func repositoryOf(h forge.Host, r forge.Repository) repository {
	out := repository{
		ID: r.ID, FullName: r.FullName, Provider: h.Provider(), Public: r.Public, Stars: r.Stars,
		PushedAt: optional.Of(r.PushedAt), OwnerType: "user", MainBranch: optional.Of(r.MainBranch),
	}
	if r.OfOrganisation {
		out.OwnerType = "organization"
	}
	return out
}

func repositoriesOf(h forge.Host, all []forge.Repository) []repository {
	return mapped(all, func(r forge.Repository) repository { return repositoryOf(h, r) })
}

type branch struct {
	Name      string  `json:"name"`
	Commit    string  `json:"commit_sha"`
	Protected bool    `json:"protected"`
	PushedAt  *string `json:"last_push_date"`
}

func branchOf(b forge.Branch) branch {
	return branch{Name: b.Name, Commit: b.Commit, Protected: b.Protected, PushedAt: optional.Of(b.PushedAt)}
}

type task struct {
	Provider   forge.Provider `json:"git_provider"`
	Type       forge.TaskType `json:"task_type"`
	Repository string         `json:"repo"`
	Number     int            `json:"issue_number"`
	Title      string         `json:"title"`
}

type user struct {
	ID      string  `json:"id"`
	Login   string  `json:"login"`
	Avatar  string  `json:"avatar_url"`
	Company *string `json:"company"`
	Name    *string `json:"name"`
	Email   *string `json:"email"`
}

// mapped returns f's results for items, never nil.
func mapped[A, B any](all []A, f func(A) B) []B {
	out := make([]B, len(all))
	for i, one := range all {
		out[i] = f(one)
	}
	return out
}

// part returns the page of a whole list.
func part[T any](all []T, p forge.Page) (rest.Page[T], error) {
	n, size, err := p.Number()
	if err != nil {
		return rest.Page[T]{}, err
	}
	from := min((n-1)*size, len(all))
	to := min(from+size, len(all))
	next := ""
	if to < len(all) {
		next = forge.PageToken(n+1, size)
	}
	return rest.PageOf(all[from:to], next), nil
}
