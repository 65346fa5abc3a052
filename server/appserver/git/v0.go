package git

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/forge"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/settings"
)

// maxWalk bounds the pages of a list without numbers that are passed over.
const maxWalk = 50

// selected reads the optional provider of the older routes.
func selected(q *rest.Query) string {
	return q.Enum("selected_provider", "", settings.GitProviders...)
}

func (s *Service) installationsV0(w http.ResponseWriter, r *http.Request) error {
	q := rest.QueryOf(r)
	provider := providerFrom(q, "provider")
	if err := q.Err(); err != nil {
		return err
	}
	accounts, err := s.accounts(r.Context(), provider)
	if err != nil {
		return err
	}
	return rest.JSON(w, http.StatusOK, append([]string{}, accounts...))
}

// v0Sorts are the orders of the older routes.
var v0Sorts = map[string]forge.Sort{
	"pushed": forge.ByPush, "updated": forge.ByUpdate, "created": "", "stars": forge.ByStars, "forks": forge.ByForks,
	"full_name": forge.ByName, "name": forge.ByName, "best match": "", "": "",
}

// sortFrom reads the order; one that no host has is the hosts' default.
func sortFrom(q *rest.Query, def string) forge.Sort { return v0Sorts[q.String("sort", def)] }

// pageSize reads the size of a page. A larger one than hosts give counts as theirs: OpenHands'
// page asks for 200 and 500.
func pageSize(q *rest.Query, def int) int {
	return min(q.Int("per_page", def, 1, math.MaxInt32), forge.MaxPage)
}

// repositoriesV0 answers with one page of each host. Whether there is another says the
// link_header of the first item, as web interfaces read it.
func (s *Service) repositoriesV0(w http.ResponseWriter, r *http.Request) error {
	q := rest.QueryOf(r)
	provider, number := selected(q), q.Int("page", 1, 1, math.MaxInt32)
	query := forge.RepositoryQuery{
		Account: q.String("installation_id", ""), Sort: sortFrom(q, "pushed"),
		Page: forge.Page{Size: pageSize(q, 30)},
	}
	if err := q.Err(); err != nil {
		return err
	}
	all, err := s.hosts(r.Context(), provider)
	if err != nil {
		return err
	}
	found, err := each(r.Context(), s, all, func(h forge.Host) ([]repository, error) {
		list, err := numbered(r.Context(), h, query, number)
		out := repositoriesOf(h, list.Items)
		if len(out) > 0 && list.Next != "" {
			link := fmt.Sprintf(`<%s?page=%d&per_page=%d>; rel="next"`, r.URL.Path, number+1, query.Page.Size)
			out[0].LinkHeader = &link
		}
		return out, err
	})
	if err != nil {
		return err
	}
	for i := range found { // the first item speaks for all hosts
		if found[0].LinkHeader == nil {
			found[0].LinkHeader = found[i].LinkHeader
		}
	}
	return rest.JSON(w, http.StatusOK, append([]repository{}, found...))
}

// numbered returns the page of a number. Over all workspaces of Bitbucket pages have no
// numbers: those before are passed over.
func numbered(ctx context.Context, h forge.Host, q forge.RepositoryQuery, number int) (out forge.List[forge.Repository], err error) {
	if h.Provider() != forge.Bitbucket || q.Account != "" {
		q.Page.Token = forge.PageToken(number, q.Page.Size)
		return h.Repositories(ctx, q)
	}
	for i := range min(number, maxWalk) {
		if i > 0 && out.Next == "" {
			return forge.List[forge.Repository]{}, nil
		}
		q.Page.Token = out.Next
		if out, err = h.Repositories(ctx, q); err != nil {
			return out, err
		}
	}
	return out, nil
}

func (s *Service) searchRepositoriesV0(w http.ResponseWriter, r *http.Request) error {
	q := rest.QueryOf(r)
	provider := selected(q)
	query := forge.RepositoryQuery{
		Text: strings.TrimSpace(q.Required("query")), Sort: sortFrom(q, "stars"), Ascending: q.String("order", "desc") == "asc",
		Page: forge.Page{Size: pageSize(q, 5)},
	}
	if err := q.Err(); err != nil {
		return err
	}
	all, err := s.hosts(r.Context(), provider)
	if err != nil {
		return err
	}
	found, err := each(r.Context(), s, all, func(h forge.Host) ([]repository, error) {
		list, err := search(r.Context(), h, query)
		return repositoriesOf(h, list.Items), err
	})
	if err != nil {
		return err
	}
	return rest.JSON(w, http.StatusOK, append([]repository{}, found...))
}

func (s *Service) searchBranchesV0(w http.ResponseWriter, r *http.Request) error {
	q := rest.QueryOf(r)
	provider, name, text := selected(q), q.Required("repository"), q.Required("query")
	p := forge.Page{Size: pageSize(q, 30)}
	if err := q.Err(); err != nil {
		return err
	}
	h, err := s.of(r.Context(), provider, name)
	if err != nil {
		return err
	}
	found, err := h.Branches(r.Context(), name, text, p)
	if err != nil {
		return err
	}
	return rest.JSON(w, http.StatusOK, mapped(found.Items, branchOf))
}

func (s *Service) branchesV0(w http.ResponseWriter, r *http.Request) error {
	q := rest.QueryOf(r)
	provider, name := selected(q), q.Required("repository")
	number, size := q.Int("page", 1, 1, math.MaxInt32), pageSize(q, 30)
	if err := q.Err(); err != nil {
		return err
	}
	h, err := s.of(r.Context(), provider, name)
	if err != nil {
		return err
	}
	found, err := h.Branches(r.Context(), name, "", forge.Page{Token: forge.PageToken(number, size)})
	if err != nil {
		return err
	}
	return rest.JSON(w, http.StatusOK, map[string]any{
		"branches": mapped(found.Items, branchOf), "has_next_page": found.Next != "",
		"current_page": number, "per_page": size, "total_count": nil,
	})
}

func (s *Service) tasksV0(w http.ResponseWriter, r *http.Request) error {
	all, err := s.suggested(r.Context())
	if err != nil {
		return err
	}
	return rest.JSON(w, http.StatusOK, append([]task{}, all...))
}

// repositoryV0 answers for {repository}/microagents and {repository}/microagents/content
// where the name's slashes are not encoded.
func (s *Service) repositoryV0(w http.ResponseWriter, r *http.Request) error {
	path := r.PathValue("path")
	if name, ok := strings.CutSuffix(path, "/microagents/content"); ok {
		r.SetPathValue("repository_name", name)
		return s.microagent(w, r)
	}
	if name, ok := strings.CutSuffix(path, "/microagents"); ok {
		r.SetPathValue("repository_name", name)
		return s.microagents(w, r)
	}
	return fault.New(fault.NotFound, "Not Found")
}

func (s *Service) microagents(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("repository_name")
	h, err := s.of(r.Context(), "", name)
	if err != nil {
		return err
	}
	repo, err := h.Repository(r.Context(), name)
	if err != nil {
		return err
	}
	found, err := forge.Microagents(r.Context(), h, name)
	if err != nil {
		return err
	}
	type item struct {
		Name    string `json:"name"`
		Path    string `json:"path"`
		Created string `json:"created_at"` // when the repository was last changed
	}
	changed := repo.PushedAt
	if changed == "" {
		changed = time.Unix(0, 0).UTC().Format(time.RFC3339)
	}
	return rest.JSON(w, http.StatusOK, mapped(found, func(m forge.Microagent) item { return item{m.Name, m.Path, changed} }))
}

func (s *Service) microagent(w http.ResponseWriter, r *http.Request) error {
	name, q := r.PathValue("repository_name"), rest.QueryOf(r)
	file := q.Required("file_path")
	if err := q.Err(); err != nil {
		return err
	}
	h, err := s.of(r.Context(), "", name)
	if err != nil {
		return err
	}
	text, triggers, err := forge.MicroagentText(r.Context(), h, name, file)
	if err != nil {
		return err
	}
	return rest.JSON(w, http.StatusOK, map[string]any{
		"content": text, "path": file, "triggers": append([]string{}, triggers...), "git_provider": h.Provider(),
	})
}
