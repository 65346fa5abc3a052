package git

import (
	"context"
	"net/http"
	"strings"

	"github.com/deft-dev/deft/forge"
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

func (s *Service) installations(w http.ResponseWriter, r *http.Request) error {
	q := rest.QueryOf(r)
	provider, p := providerFrom(q, "provider"), pageFrom(q, 100)
	if err := q.Err(); err != nil {
		return err
	}
	accounts, err := s.accounts(r.Context(), provider)
	if err != nil {
		return err
	}
	out, err := part(accounts, p)
	if err != nil {
		return err
	}
	return rest.JSON(w, http.StatusOK, out)
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

func (s *Service) repositories(w http.ResponseWriter, r *http.Request) error {
	q := rest.QueryOf(r)
	provider := providerFrom(q, "provider")
	by, direction, _ := strings.Cut(q.Enum("sort_order", "", sortOrders...), "-")
	query := forge.RepositoryQuery{
		Text: strings.TrimSpace(q.String("query", "")), Account: q.String("installation_id", ""),
		Sort: forge.Sort(by), Ascending: direction == "asc", Page: pageFrom(q, 100),
	}
	if err := q.Err(); err != nil {
		return err
	}
	h, err := s.one(r.Context(), provider)
	if err != nil {
		return err
	}
	found, err := search(r.Context(), h, query)
	if err != nil {
		return err
	}
	return rest.JSON(w, http.StatusOK, page[repository]{repositoriesOf(h, found.Items), orNull(found.Next)})
}

func (s *Service) branches(w http.ResponseWriter, r *http.Request) error {
	q := rest.QueryOf(r)
	provider, name, p := providerFrom(q, "provider"), q.Required("repository"), pageFrom(q, 30)
	text := q.Required("query")
	if err := q.Err(); err != nil {
		return err
	}
	h, err := s.one(r.Context(), provider)
	if err != nil {
		return err
	}
	found, err := h.Branches(r.Context(), name, text, p)
	if err != nil {
		return err
	}
	return rest.JSON(w, http.StatusOK, page[branch]{mapped(found.Items, branchOf), orNull(found.Next)})
}

func (s *Service) tasks(w http.ResponseWriter, r *http.Request) error {
	q := rest.QueryOf(r)
	p := pageFrom(q, 30)
	if err := q.Err(); err != nil {
		return err
	}
	all, err := s.suggested(r.Context())
	if err != nil {
		return err
	}
	out, err := part(all, p)
	if err != nil {
		return err
	}
	return rest.JSON(w, http.StatusOK, out)
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
func (s *Service) info(w http.ResponseWriter, r *http.Request) error {
	h, err := s.one(r.Context(), "")
	if err != nil {
		return err
	}
	u, err := h.User(r.Context())
	if err != nil {
		return err
	}
	return rest.JSON(w, http.StatusOK, user{u.ID, u.Login, u.AvatarURL, orNull(u.Company), orNull(u.Name), orNull(u.Email)})
}

// organisations answers with the organisations of the first provider, without the
// user.
func (s *Service) organisations(w http.ResponseWriter, r *http.Request) error {
	h, err := s.one(r.Context(), "")
	if err != nil {
		return err
	}
	u, err := h.User(r.Context())
	if err != nil {
		return err
	}
	all, err := h.Accounts(r.Context())
	if err != nil {
		return err
	}
	names := []string{}
	for _, a := range all {
		if !strings.EqualFold(a, u.Login) {
			names = append(names, a)
		}
	}
	return rest.JSON(w, http.StatusOK, map[string]any{"provider": h.Provider(), "organizations": names})
}
