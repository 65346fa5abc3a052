// Package forge is the one way to Git hosts: the owner of a token, the repositories that
// it sees, their branches, the tasks that wait for its owner there, and new pull requests.
// Each host has an adapter below this package, which `forge/route` chooses.
//
// # Usage
//
//	host, err := hosts.Open(forge.Account{Provider: forge.GitHub, Token: token})
//	user, err := host.User(ctx)
//	page, err := host.Repositories(ctx, forge.RepositoryQuery{Text: "api", Page: forge.Page{Size: 30}})
//	for page.Next != "" { … Page{Token: page.Next} … }
//
// # What hosts may do to us
//
// All answers of a host are untrusted: they are bounded, redirects to other hosts are not
// followed, and lists end after a number of pages. Tokens are sent in headers, never in
// URLs, and are in no error. Users name hosts: package outbound bounds the addresses that
// are reached so.
//
// # Concurrency and failure
//
// A [Host] is safe for concurrent use. A refused token is fault.Auth, a missing permission
// Denied, a missing or hidden object NotFound, too many requests RateLimit after short
// waits, a host that fails or does not answer Unavailable or Timeout.
package forge

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
)

// Provider is a kind of host, by OpenHands' name for it.
type Provider string

// The providers that have an adapter.
const (
	GitHub    Provider = "github"
	GitLab    Provider = "gitlab"
	Bitbucket Provider = "bitbucket" // Bitbucket Cloud
	Forgejo   Provider = "forgejo"   // Gitea, too
)

// Account is a user's access to a host.
type Account struct {
	Provider Provider
	// Host is the name or base URL of a host of one's own; empty for the provider's.
	Host string
	// Token may be empty: then only public objects are seen. Bitbucket also takes
	// "user:password".
	Token llm.Secret
}

// Opener opens hosts.
type Opener interface {
	// Open returns an account's host, without a request to it. Unsupported for a provider
	// without an adapter, Invalid for a host that cannot be one.
	Open(Account) (Host, error)
}

// Host is a Git host as one account sees it. Repositories are named by their full names,
// such as owner/name.
type Host interface {
	Provider() Provider
	// User returns whose token it is.
	User(ctx context.Context) (User, error)
	// Accounts returns the names of the user and of the organisations, groups or
	// workspaces that the user belongs to.
	Accounts(ctx context.Context) ([]string, error)
	// Repositories lists repositories that the user works with.
	Repositories(ctx context.Context, q RepositoryQuery) (List[Repository], error)
	Repository(ctx context.Context, name string) (Repository, error)
	// Branches lists the branches whose name has a text in it, "" for all.
	Branches(ctx context.Context, repository, text string, p Page) (List[Branch], error)
	// Tasks returns the work that waits for the user: own open pull requests with a
	// problem, and issues that are assigned to the user.
	Tasks(ctx context.Context) ([]Task, error)
	// Propose opens a pull request, or merge request.
	Propose(ctx context.Context, p Proposal) (PullRequest, error)
	// Clone returns where a repository is cloned from, and the user and password that Git
	// sends.
	Clone(repository string) (url, user, password string)
}

// User is a user of a host.
type User struct {
	ID, Login, AvatarURL string
	Name, Company, Email string // "" where the host does not say
}

// RepositoryQuery selects repositories.
type RepositoryQuery struct {
	// Text is in the name; "" for all. With the form owner/name it is searched there.
	Text string
	// Account limits the list to one of [Host.Accounts]; "" for all.
	Account string
	Sort    Sort
	// Ascending turns the order around.
	Ascending bool
	Page      Page
}

// Sort is an order of repositories. A host without an order takes its own default.
type Sort string

// The orders: by the last push, by the last change, by stars, by forks, by name.
const (
	ByPush   Sort = "pushed"
	ByUpdate Sort = "updated"
	ByStars  Sort = "stars"
	ByForks  Sort = "forks"
	ByName   Sort = "full_name"
)

// Repository is a repository of a host.
type Repository struct {
	ID         string
	FullName   string
	Public     bool
	Stars      int
	PushedAt   string // RFC 3339; "" if it is unknown
	MainBranch string // "" for an empty repository
	// OfOrganisation says that its owner is no person.
	OfOrganisation bool
}

// Branch is a branch of a repository.
type Branch struct {
	Name, Commit string
	Protected    bool
	PushedAt     string // of its last commit, RFC 3339; "" if it is unknown
}

// TaskType is the kind of a task, by the contract's name.
type TaskType string

// The types of tasks.
const (
	MergeConflicts     TaskType = "MERGE_CONFLICTS"
	FailingChecks      TaskType = "FAILING_CHECKS"
	UnresolvedComments TaskType = "UNRESOLVED_COMMENTS"
	OpenIssue          TaskType = "OPEN_ISSUE"
)

// Task is something that waits for the user.
type Task struct {
	Type       TaskType
	Repository string
	Number     int // of the issue or pull request
	Title      string
}

// Proposal is a pull request to open.
type Proposal struct {
	Repository         string
	Source, Target     string // branches
	Title, Description string
	Draft              bool
	Labels             []string
}

// PullRequest is one that was opened.
type PullRequest struct {
	Number int
	URL    string
	// Warning names a part that failed although the pull request was made; "" for
	// none.
	Warning string
}

// Page says which part of a list is wanted.
type Page struct {
	// Token is a [List.Next], "" for the first page. Its page has the size of the first
	// one.
	Token string
	// Size is at most 100; 0 for 30.
	Size int
}

// Pages have these sizes.
const (
	MaxPage     = 100
	defaultPage = 30
)

// List is a page of a list.
type List[T any] struct {
	Items []T
	Next  string // of the next page; "" if this is the last one
}

// Number returns the number of the page, from 1 on, and its size. Invalid if the token is
// none.
func (p Page) Number() (n, size int, err error) {
	n, size = 1, p.Size
	if p.Token != "" {
		left, right, _ := strings.Cut(p.Token, ".")
		var bad error
		if n, err = strconv.Atoi(left); err == nil {
			size, bad = strconv.Atoi(right)
		}
		if err != nil || bad != nil || n < 1 || n > 1_000_000 || size < 1 || size > MaxPage {
			return 0, 0, fault.New(fault.Invalid, "the page does not exist")
		}
	}
	if size <= 0 {
		size = defaultPage
	}
	return n, min(size, MaxPage), nil
}

// PageToken returns the token of the page of a number, from 1 on.
func PageToken(n, size int) string { return strconv.Itoa(n) + "." + strconv.Itoa(size) }

// Limits of All.
const (
	mostItems = 5000
	mostPages = 100
)

// All collects the items of all pages that list returns, up to 5000 of 100 pages.
func All[T any](list func(Page) (List[T], error)) ([]T, error) {
	var out []T
	p := Page{Size: MaxPage}
	for range mostPages {
		page, err := list(p)
		if err != nil {
			return nil, err
		}
		out = append(out, page.Items...)
		if page.Next == "" || page.Next == p.Token || len(out) >= mostItems {
			break
		}
		p.Token = page.Next
	}
	return out[:min(len(out), mostItems)], nil
}

// SplitName returns the parts of a repository's full name. Invalid if it is none.
func SplitName(repository string) (owner, name string, err error) {
	i := strings.LastIndex(repository, "/")
	parts := strings.Split(repository, "/")
	bad := slices.ContainsFunc(parts, func(p string) bool { return p == "" || p == "." || p == ".." })
	if i < 0 || bad || len(repository) > 512 || strings.ContainsFunc(repository, func(r rune) bool {
		return r <= ' ' || r == 0x7f || strings.ContainsRune(`?#@:\%"`, r)
	}) {
		return "", "", fault.New(fault.Invalid, "a repository is named as owner/name").Hint("for example acme/website")
	}
	return repository[:i], repository[i+1:], nil
}
