package v1

import (
	"net/http"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/optional"
	"github.com/deft-dev/deft/server/appserver/sandboxes"
	"github.com/deft-dev/deft/server/appserver/store"
	"github.com/deft-dev/deft/server/rest"
)

// Spec describes a sandbox specification (SandboxSpecInfo).
type Spec struct {
	ID         string            `json:"id"`
	Command    []string          `json:"command"`
	Created    string            `json:"created_at"`
	Env        map[string]string `json:"initial_env"`
	WorkingDir string            `json:"working_dir"`
}

type exposedURL struct {
	Name string `json:"name"`
	URL  string `json:"url"`
	Port int    `json:"port"`
}

// sandboxInfo is a sandbox as the contract has it (SandboxInfo).
type sandboxInfo struct {
	ID         string           `json:"id"`
	Owner      string           `json:"created_by_user_id"`
	Spec       string           `json:"sandbox_spec_id"`
	Status     sandboxes.Status `json:"status"`
	SessionKey *string          `json:"session_api_key"`
	URLs       []exposedURL     `json:"exposed_urls"`
	Created    string           `json:"created_at"`
	Detail     *string          `json:"status_detail"`
}

func (s *Service) showSandbox(r *http.Request, b store.Sandbox) sandboxInfo {
	out := sandboxInfo{ID: b.ID, Owner: b.Owner, Spec: b.Spec, Status: s.o.Sandboxes.StatusOf(r.Context(), b), Created: rest.Stamp(b.Created)}
	if out.Status == sandboxes.Lost {
		out.Detail = optional.Of(s.o.Sandboxes.LostDetail())
	}
	if out.Status == sandboxes.Running {
		base := s.o.URL(r)
		out.SessionKey, out.URLs = optional.Of(sandboxes.KeyFor(r.Context(), b)), []exposedURL{{"AGENT_SERVER", base, port(base)}}
	}
	return out
}

func (s *Service) searchSandboxes(r *http.Request) (any, error) {
	q := rest.QueryOf(r)
	pageID, limit := q.String("page_id", ""), q.Limit("limit", 100, 100)
	if err := q.Err(); err != nil {
		return nil, err
	}
	found, next, err := s.o.Sandboxes.List(r.Context(), owner(r), pageID, limit)
	if err != nil {
		return nil, err
	}
	items := make([]sandboxInfo, len(found))
	for i := range found {
		items[i] = s.showSandbox(r, found[i])
	}
	return rest.PageOf(items, next), nil
}

func (s *Service) batchSandboxes(r *http.Request) (any, error) {
	asked := rest.QueryOf(r).All("id")
	if err := tooMany(len(asked), "id"); err != nil {
		return nil, err
	}
	out := make([]*sandboxInfo, len(asked))
	for i, id := range asked {
		b, err := s.o.Sandboxes.Get(r.Context(), owner(r), id)
		if fault.Is(err, fault.NotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		shown := s.showSandbox(r, b)
		out[i] = &shown
	}
	return out, nil
}

func (s *Service) createSandbox(r *http.Request) (any, error) {
	b, err := s.o.Sandboxes.CreateOf(r.Context(), owner(r), rest.QueryOf(r).String("sandbox_spec_id", ""))
	if err != nil {
		return nil, err
	}
	return s.showSandbox(r, b), nil
}

func (s *Service) pauseSandbox(r *http.Request) (any, error) {
	return rest.Done, missing(s.o.Sandboxes.Pause(r.Context(), owner(r), r.PathValue("id")), "Sandbox")
}

func (s *Service) resumeSandbox(r *http.Request) (any, error) {
	id := r.PathValue("id")
	if err := s.o.Sandboxes.Resume(r.Context(), owner(r), id); err != nil {
		return nil, missing(err, "Sandbox")
	}
	return rest.Done, s.o.Sandboxes.GiveAll(r.Context(), owner(r), id)
}

// deleteSandbox takes the id from the path: the reference wants it in the query too.
func (s *Service) deleteSandbox(r *http.Request) (any, error) {
	return rest.Done, missing(s.o.Sandboxes.Delete(r.Context(), owner(r), r.PathValue("id")), "Sandbox")
}

func (s *Service) searchSpecs(r *http.Request) (any, error) {
	q := rest.QueryOf(r)
	q.Limit("limit", 100, 100)
	if err := q.Err(); err != nil {
		return nil, err
	}
	return rest.PageOf([]Spec{s.o.Spec}, ""), nil
}

func (s *Service) batchSpecs(r *http.Request) (any, error) {
	asked := rest.QueryOf(r).All("id")
	if err := tooMany(len(asked), "id"); err != nil {
		return nil, err
	}
	out := make([]*Spec, len(asked))
	for i, id := range asked {
		if id == s.o.Spec.ID {
			out[i] = &s.o.Spec
		}
	}
	return out, nil
}
