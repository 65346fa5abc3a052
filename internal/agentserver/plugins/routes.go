package plugins

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/deft-dev/deft/internal/agentserver/rest"
	"github.com/deft-dev/deft/internal/agentserver/skills/installation"
	"github.com/deft-dev/deft/internal/fault"
)

// Routes returns the operations of the room.
func (s *Service) Routes() []rest.Route {
	const tag = "Plugins"
	return []rest.Route{
		{Method: "POST", Path: "/api/plugins", Tag: tag, Handle: s.list},
		{Method: "POST", Path: "/api/plugins/fetch", Tag: tag, Handle: s.fetch},
		{Method: "GET", Path: "/api/plugins/marketplace", Tag: tag, Handle: s.marketplace},
		{Method: "POST", Path: "/api/plugins/install", Tag: tag, Handle: s.install},
		{Method: "GET", Path: "/api/plugins/installed", Tag: tag, Handle: s.listInstalled},
		{Method: "GET", Path: "/api/plugins/installed/{plugin_name}", Tag: tag, Handle: s.get},
		{Method: "PATCH", Path: "/api/plugins/installed/{plugin_name}", Tag: tag, Handle: s.enable},
		{Method: "DELETE", Path: "/api/plugins/installed/{plugin_name}", Tag: tag, Handle: s.uninstall},
		{Method: "POST", Path: "/api/plugins/installed/{plugin_name}/refresh", Tag: tag, Handle: s.refresh},
	}
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
	if body.Source == nil {
		return rest.Missing("body", "source")
	}
	if err := rest.NotEmpty(*body.Source, "body", "source"); err != nil {
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
	Name        string     `json:"name"`
	Version     string     `json:"version"`
	Description string     `json:"description"`
	Enabled     bool       `json:"enabled"`
	Source      string     `json:"source"`
	ResolvedRef *string    `json:"resolved_ref"`
	RepoPath    *string    `json:"repo_path"`
	InstalledAt string     `json:"installed_at"`
	InstallPath string     `json:"install_path"`
	Skills      *[]Summary `json:"skills"` // null if it cannot be read
	Files       *[]string  `json:"files"`
}

func (s *Service) show(i installation.Info) shown {
	skills, files := s.contents(i.InstallPath)
	return shown{
		i.Name, i.Version, i.Description, i.Enabled, installation.Shown(i.Source),
		i.ResolvedRef, i.RepoPath, i.InstalledAt, i.InstallPath, skills, files,
	}
}

func (s *Service) install(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		Source   *string `json:"source"`
		Ref      *string `json:"ref"`
		RepoPath *string `json:"repo_path"`
		Force    bool    `json:"force"`
	}
	if err := rest.Body(r, &body); err != nil {
		return err
	}
	if body.Source == nil {
		return rest.Missing("body", "source")
	}
	if err := rest.NotEmpty(*body.Source, "body", "source"); err != nil {
		return err
	}
	from := installation.Source{Source: *body.Source, Ref: body.Ref, RepoPath: body.RepoPath}
	info, err := s.installed.Install(r.Context(), from, body.Force)
	switch {
	case errors.Is(err, installation.ErrFetch):
		s.o.Log.Info("plugin not installed", "err", err)
		return rest.Fail(http.StatusBadRequest, "Failed to fetch plugin source. Check that the source is valid.")
	case fault.Is(err, fault.Conflict):
		return rest.Fail(http.StatusConflict, "Plugin already installed. Use force=true to overwrite.")
	case fault.Is(err, fault.Invalid):
		s.o.Log.Info("plugin not installed", "err", err)
		return rest.Fail(http.StatusUnprocessableEntity, "Invalid plugin. Ensure it has a valid kebab-case name.")
	case err != nil:
		return err
	}
	return rest.JSON(w, http.StatusOK, s.show(info))
}

func (s *Service) listInstalled(w http.ResponseWriter, _ *http.Request) error {
	infos, err := s.installed.List()
	if err != nil {
		return err
	}
	list := make([]shown, 0, len(infos))
	for _, i := range infos {
		list = append(list, s.show(i))
	}
	return rest.JSON(w, http.StatusOK, map[string]any{"plugins": list})
}

func named(r *http.Request) (string, error) {
	return rest.PathMatch(r, "plugin_name", installation.Name, installation.NamePattern)
}

// absent words the error of a plugin that is not installed.
func absent(name string, err error) error {
	if fault.Is(err, fault.NotFound) {
		return rest.Fail(http.StatusNotFound, fmt.Sprintf("Plugin '%s' is not installed", name))
	}
	return err
}

func (s *Service) get(w http.ResponseWriter, r *http.Request) error {
	name, err := named(r)
	if err != nil {
		return err
	}
	info, err := s.installed.Get(name)
	if err != nil {
		return absent(name, err)
	}
	return rest.JSON(w, http.StatusOK, s.show(info))
}

func (s *Service) enable(w http.ResponseWriter, r *http.Request) error {
	name, err := named(r)
	if err != nil {
		return err
	}
	on, err := enabled(r)
	if err != nil {
		return err
	}
	if err := s.installed.SetEnabled(name, on); err != nil {
		return absent(name, err)
	}
	return rest.JSON(w, http.StatusOK, struct {
		Name    string `json:"name"`
		Enabled bool   `json:"enabled"`
	}{name, on})
}

func enabled(r *http.Request) (bool, error) {
	var body struct {
		Enabled *bool `json:"enabled"`
	}
	if err := rest.Body(r, &body); err != nil {
		return false, err
	}
	if body.Enabled == nil {
		return false, rest.Missing("body", "enabled")
	}
	return *body.Enabled, nil
}

func (s *Service) uninstall(w http.ResponseWriter, r *http.Request) error {
	name, err := named(r)
	if err != nil {
		return err
	}
	if err := s.installed.Uninstall(name); err != nil {
		return absent(name, err)
	}
	return rest.JSON(w, http.StatusOK, map[string]any{"message": fmt.Sprintf("Plugin '%s' uninstalled", name)})
}

func (s *Service) refresh(w http.ResponseWriter, r *http.Request) error {
	name, err := named(r)
	if err != nil {
		return err
	}
	info, err := s.installed.Update(r.Context(), name)
	switch {
	case errors.Is(err, installation.ErrFetch):
		return rest.Fail(http.StatusBadRequest, fmt.Sprintf("Failed to fetch the source of plugin '%s'. The installed copy was kept.", name))
	case fault.Is(err, fault.Invalid):
		return rest.Fail(http.StatusUnprocessableEntity, fmt.Sprintf("The source of plugin '%s' no longer holds a valid plugin. The installed copy was kept.", name))
	case err != nil:
		return absent(name, err)
	}
	return rest.JSON(w, http.StatusOK, map[string]any{"message": fmt.Sprintf("Plugin '%s' updated", name), "plugin": s.show(info)})
}
