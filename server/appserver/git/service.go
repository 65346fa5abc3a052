// Package git serves a user's view of the Git hosts that have a token: installations,
// repositories, branches and suggested tasks, below /api/v1/git. Package forge reaches the
// hosts.
//
// # Usage
//
//	s := git.New(git.Options{Tokens: tokensOf, Forges: hosts})
//	routes := s.Routes()
//
// # Concurrency and failure
//
// A Service is safe for concurrent use and keeps nothing. A request about a host without a
// token, or one that refuses it, is Denied: pages of clients sign out when an answer is 401.
// Lists over several hosts leave out hosts that fail, which are logged, but
// if all fail that is the error.
package git

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/forge"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/settings"
)

// Options configure a Service.
type Options struct {
	// Tokens returns an owner's tokens by provider.
	Tokens func(ctx context.Context, owner identity.Tenant) (map[string]settings.ProviderToken, error)
	Forges forge.Opener
	Log    *slog.Logger
}

// Service has the routes.
type Service struct{ o Options }

// New returns a service.
func New(o Options) *Service {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return &Service{o: o}
}

// Routes returns the operations.
func (s *Service) Routes() []rest.Route {
	const v1 = "/api/v1/git"
	r := func(path string, h rest.Valued) rest.Route {
		return rest.Route{Method: "GET", Path: path, Tag: "Git", Scope: rest.Account, Handle: rest.Value(ofHost(h))}
	}
	return []rest.Route{
		r(v1+"/installations/search", s.installations),
		r(v1+"/repositories/search", s.repositories),
		r(v1+"/branches/search", s.branches),
		r(v1+"/suggested-tasks/search", s.tasks),
		r("/api/v1/users/git-info", s.info),
		r("/api/v1/users/git-organizations", s.organisations),
	}
}

// ofHost turns the refusal of a Git host into one that leaves the user signed in here.
func ofHost(h rest.Valued) rest.Valued {
	return func(r *http.Request) (any, error) {
		out, err := h(r)
		if fault.Is(err, fault.Auth) {
			err = fault.New(fault.Denied, err.Error()).Hint(fault.HintOf(err))
		}
		return out, err
	}
}

var errNoToken = fault.New(fault.Auth, "no token of a Git provider is stored").Hint("store one in the settings")

// hosts returns the caller's hosts in the order of the providers, or only a
// provider's; never none.
func (s *Service) hosts(ctx context.Context, provider string) ([]forge.Host, error) {
	tokens, err := s.o.Tokens(ctx, identity.CallerOf(ctx).Tenant())
	if err != nil {
		return nil, err
	}
	var out []forge.Host
	for _, name := range settings.GitProviders {
		t, ok := tokens[name]
		if !ok || provider != "" && provider != name {
			continue
		}
		h, err := s.o.Forges.Open(forge.Account{Provider: forge.Provider(name), Host: t.Host, Token: t.Token})
		if fault.Is(err, fault.Unsupported) && provider == "" {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, h)
	}
	switch {
	case len(out) == 0 && provider != "":
		return nil, fault.New(fault.Auth, "no token of "+provider+" is stored").Hint("store one in the settings")
	case len(out) == 0:
		return nil, errNoToken
	}
	return out, nil
}

// one returns the host of a provider.
func (s *Service) one(ctx context.Context, provider string) (forge.Host, error) {
	all, err := s.hosts(ctx, provider)
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// Find returns the first host that has a repository, NotFound if none has it.
func Find(ctx context.Context, all []forge.Host, repository string) (forge.Host, error) {
	var failed error
	for _, h := range all {
		_, err := h.Repository(ctx, repository)
		if err == nil {
			return h, nil
		}
		if !fault.Is(err, fault.NotFound) {
			failed = err
		}
	}
	if failed != nil {
		return nil, failed
	}
	return nil, fault.New(fault.NotFound, "there is no repository "+repository+", or the tokens may not see it")
}

// each asks hosts side by side, and returns their answers in their order.
func each[T any](ctx context.Context, s *Service, all []forge.Host, ask func(forge.Host) ([]T, error)) ([]T, error) {
	parts, errs := make([][]T, len(all)), make([]error, len(all))
	var wait sync.WaitGroup
	for i, h := range all {
		wait.Go(func() { parts[i], errs[i] = ask(h) })
	}
	wait.Wait()
	failed := 0
	for i, err := range errs {
		if err != nil {
			failed++
			s.o.Log.WarnContext(ctx, "a Git host cannot be asked", "provider", all[i].Provider(), "err", err)
		}
	}
	if failed == len(all) {
		return nil, errors.Join(errs...)
	}
	return slices.Concat(parts...), nil
}

// Named is the repository that a URL names, "" for a text that is no URL of the
// host.
func Named(h forge.Host, text string) string {
	if !strings.HasPrefix(text, "https://") && !strings.HasPrefix(text, "http://") {
		return ""
	}
	u, err := url.Parse(text)
	at, _, _ := h.Clone("a/b")
	own, bad := url.Parse(at)
	if err != nil || bad != nil || !strings.EqualFold(u.Host, own.Host) {
		return ""
	}
	base := strings.TrimSuffix(own.Path, "a/b.git")
	path := strings.TrimSuffix(strings.Trim(strings.TrimPrefix(u.Path, base), "/"), ".git")
	if h.Provider() == forge.GitLab {
		path, _, _ = strings.Cut(path, "/-/")
		return path
	}
	parts := strings.Split(path, "/")
	return strings.Join(parts[:min(2, len(parts))], "/")
}

// search lists repositories of a host. A text that is a URL of the host names one.
func search(ctx context.Context, h forge.Host, q forge.RepositoryQuery) (forge.List[forge.Repository], error) {
	name := Named(h, q.Text)
	if name == "" {
		if strings.Contains(q.Text, "://") { // of another host
			return forge.List[forge.Repository]{}, nil
		}
		return h.Repositories(ctx, q)
	}
	r, err := h.Repository(ctx, name)
	if fault.Is(err, fault.NotFound) || fault.Is(err, fault.Invalid) {
		return forge.List[forge.Repository]{}, nil
	}
	return forge.List[forge.Repository]{Items: []forge.Repository{r}}, err
}
