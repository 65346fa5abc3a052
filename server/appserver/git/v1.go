package git

import (
	"context"
	"net/http"
	"strings"

	"github.com/deft-dev/deft/forge"
	"github.com/deft-dev/deft/internal/optional"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/settings"
)

// pageFrom reads page_id and limit.
func pageFrom(q *rest.Query, def int) forge.Page {
	return forge.Page{Token: q.String("page_id", ""), Size: q.Limit("limit", def, forge.MaxPage)}
}

// providerFrom reads a required provider.
func providerFrom(q *rest.Query, name string) string {
	q.Required(name)
	return q.Enum(name, "", settings.GitProviders...)
}

func (s *Service) installations(r *http.Request) (any, error) {
	q := rest.QueryOf(r)
	provider, p := providerFrom(q, "provider"), pageFrom(q, 100)
	if err := q.Err(); err != nil {
		return nil, err
	}
	accounts, err := s.accounts(r.Context(), provider)
	if err != nil {
		return nil, err
	}
	return part(accounts, p)
}

func (s *Service) accounts(ctx context.Context, provider string) ([]string, error) {
	h, err := s.one(ctx, provider)
	if err != nil {
		return nil, err
	}
	return h.Accounts(ctx)
}

// sortOrders are the contract's orders.
var sortOrders = []string{"stars-desc", "stars-asc", "forks-desc", "forks-asc", "updated-desc", "updated-asc"}

func (s *Service) repositories(r *http.Request) (any, error) {
	q := rest.QueryOf(r)
	provider := providerFrom(q, "provider")
	by, direction, _ := strings.Cut(q.Enum("sort_order", "", sortOrders...), "-")
	query := forge.RepositoryQuery{
		Text: strings.TrimSpace(q.String("query", "")), Account: q.String("installation_id", ""),
		Sort: forge.Sort(by), Ascending: direction == "asc", Page: pageFrom(q, 100),
	}
	if err := q.Err(); err != nil {
		return nil, err
	}
	h, err := s.one(r.Context(), provider)
	if err != nil {
		return nil, err
	}
	found, err := search(r.Context(), h, query)
	if err != nil {
		return nil, err
	}
	return rest.PageOf(repositoriesOf(h, found.Items), found.Next), nil
}

func (s *Service) branches(r *http.Request) (any, error) {
	q := rest.QueryOf(r)
	provider, name, p := providerFrom(q, "provider"), q.Required("repository"), pageFrom(q, 30)
	text := q.Required("query")
	if err := q.Err(); err != nil {
		return nil, err
	}
	h, err := s.one(r.Context(), provider)
	if err != nil {
		return nil, err
	}
	found, err := h.Branches(r.Context(), name, text, p)
	if err != nil {
		return nil, err
	}
	return rest.PageOf(mapped(found.Items, branchOf), found.Next), nil
}

func (s *Service) tasks(r *http.Request) (any, error) {
	q := rest.QueryOf(r)
	p := pageFrom(q, 30)
	if err := q.Err(); err != nil {
		return nil, err
	}
	all, err := s.suggested(r.Context())
	if err != nil {
		return nil, err
	}
	return part(all, p)
}

// suggested are the tasks of all hosts.
func (s *Service) suggested(ctx context.Context) ([]task, error) {
	all, err := s.hosts(ctx, "")
	if err != nil {
		return nil, err
	}
	return each(ctx, s, all, func(h forge.Host) ([]task, error) {
		found, err := h.Tasks(ctx)
		return mapped(found, func(t forge.Task) task { return task{h.Provider(), t.Type, t.Repository, t.Number, t.Title} }), err
	})
}

// info answers with the user of the first provider.
func (s *Service) info(r *http.Request) (any, error) {
	h, err := s.one(r.Context(), "")
	if err != nil {
		return nil, err
	}
	u, err := h.User(r.Context())
	if err != nil {
		return nil, err
	}
	return user{u.ID, u.Login, u.AvatarURL, optional.Of(u.Company), optional.Of(u.Name), optional.Of(u.Email)}, nil
}

// organisations answers with the organisations of the first provider, without the
// user.
func (s *Service) organisations(r *http.Request) (any, error) {
	h, err := s.one(r.Context(), "")
	if err != nil {
		return nil, err
	}
	u, err := h.User(r.Context())
	if err != nil {
		return nil, err
	}
	all, err := h.Accounts(r.Context())
	if err != nil {
		return nil, err
	}
	names := []string{}
	for _, a := range all {
		if !strings.EqualFold(a, u.Login) {
			names = append(names, a)
		}
	}
	return map[string]any{"provider": h.Provider(), "organizations": names}, nil
}
