package plugins

import (
	"encoding/json"
	"net/http"

	"github.com/deft-dev/deft/internal/agentserver/installation"
	"github.com/deft-dev/deft/internal/agentserver/rest"
)

// Routes returns the operations of the room.
func (s *Service) Routes() []rest.Route {
	const tag = "Plugins"
	own := []rest.Route{
		{Method: "POST", Path: "/api/plugins", Tag: tag, Handle: s.list},
		{Method: "POST", Path: "/api/plugins/fetch", Tag: tag, Handle: s.fetch},
		{Method: "GET", Path: "/api/plugins/marketplace", Tag: tag, Handle: s.marketplace},
	}
	return append(own, installation.API{
		Store: s.installed, Noun: "plugin", Invalid: "it has a valid kebab-case name", Log: s.o.Log, Show: s.show,
	}.Routes()...)
}

// available is a plugin that is not necessarily installed.
type available struct {
	Name        string    `json:"name"`
	Version     string    `json:"version"`
	Description string    `json:"description"`
	Path        string    `json:"path"`
	Skills      []Summary `json:"skills"`
	Files       []string  `json:"files"`
}

func (s *Service) list(w http.ResponseWriter, r *http.Request) error {
	body := struct {
		User       bool    `json:"load_user"`
		Project    bool    `json:"load_project"`
		ProjectDir *string `json:"project_dir"`
	}{User: true, Project: true}
	if err := rest.Body(r, &body); err != nil {
		return err
	}
	dir := ""
	if body.ProjectDir != nil {
		dir = *body.ProjectDir
	}
	list := []available{}
	for _, p := range s.Available(body.User, body.Project, dir) {
		list = append(list, available{p.Name, p.Version, p.Description, p.Path, p.Summaries(), p.Files()})
	}
	return rest.JSON(w, http.StatusOK, map[string]any{"plugins": list})
}

func (s *Service) fetch(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		Source   *string                    `json:"source"`
		Ref      *string                    `json:"ref"`
		RepoPath *string                    `json:"repo_path"`
		Secrets  map[string]json.RawMessage `json:"secrets"`
		Timeout  *int                       `json:"timeout"`
	}
	if err := rest.Body(r, &body); err != nil {
		return err
	}
	if err := rest.NotEmpty(body.Source, "body", "source"); err != nil {
		return err
	}
	f := Fetch{Source: *body.Source, Ref: body.Ref, RepoPath: body.RepoPath}
	var err error
	if f.Limit, err = fetchTimeout(body.Timeout); err != nil {
		return err
	}
	if f.Secrets, err = secrets(body.Secrets); err != nil {
		return err
	}
	got, err := s.Fetch(r.Context(), f)
	if err != nil {
		return err
	}
	return rest.JSON(w, http.StatusOK, got)
}

// marketplace lists nothing: the catalogue of a marketplace comes with
// marketplaces. It is what the reference answers when it cannot reach its own.
func (s *Service) marketplace(w http.ResponseWriter, _ *http.Request) error {
	return rest.JSON(w, http.StatusOK, map[string]any{"plugins": []any{}})
}

// shown is an installed plugin as the API shows it.
type shown struct {
	installation.Shape
	Skills *[]Summary `json:"skills"` // null if it cannot be read
	Files  *[]string  `json:"files"`
}

func (s *Service) show(i installation.Info) any {
	skills, files := s.contents(i.InstallPath)
	return shown{installation.ShapeOf(i), skills, files}
}
