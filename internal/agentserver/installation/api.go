package installation

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/agentserver/rest"
	"github.com/deft-dev/deft/schema"
)

// API is a store as clients use it: skills and plugins are installed, shown,
// switched, refreshed and removed alike (sdk-wire.md section 10).
type API struct {
	Store *Store
	// Noun is what is installed, as in paths and answers: "skill".
	Noun string
	// Invalid says what an installable one has.
	Invalid string
	// Show is an installed one as answers have it.
	Show func(Info) any
	Log  *slog.Logger
}

// Shape is what answers say of everything that is installed.
type Shape struct {
	Name        string  `json:"name"`
	Version     string  `json:"version"`
	Description string  `json:"description"`
	Enabled     bool    `json:"enabled"`
	Source      string  `json:"source"`
	ResolvedRef *string `json:"resolved_ref"`
	RepoPath    *string `json:"repo_path"`
	InstalledAt string  `json:"installed_at"`
	InstallPath string  `json:"install_path"`
}

// ShapeOf returns it for an installed one.
func ShapeOf(i Info) Shape {
	return Shape{
		i.Name, i.Version, i.Description, i.Enabled, Shown(i.Source), i.ResolvedRef, i.RepoPath, i.InstalledAt, i.InstallPath,
	}
}

// Routes returns the operations.
func (a API) Routes() []rest.Route {
	base := "/api/" + a.Noun + "s/"
	one := base + "installed/{" + a.Noun + "_name}"
	tag := a.title() + "s"
	return []rest.Route{
		{Method: "POST", Path: base + "install", Tag: tag, Handle: a.install},
		{Method: "GET", Path: base + "installed", Tag: tag, Handle: a.list},
		{Method: "GET", Path: one, Tag: tag, Handle: a.get},
		{Method: "PATCH", Path: one, Tag: tag, Handle: a.enable},
		{Method: "DELETE", Path: one, Tag: tag, Handle: a.uninstall},
		{Method: "POST", Path: one + "/refresh", Tag: tag, Handle: a.refresh},
	}
}

func (a API) title() string { return strings.ToUpper(a.Noun[:1]) + a.Noun[1:] }

var (
	optional    = schema.Opt(schema.String{})
	installForm = &schema.Object{Fields: []schema.Field{
		{Name: "source", Type: schema.String{Min: 1}, Required: true},
		{Name: "ref", Type: optional}, {Name: "repo_path", Type: optional}, {Name: "force", Type: schema.Bool{}},
	}}
	enableForm = &schema.Object{Fields: []schema.Field{{Name: "enabled", Type: schema.Bool{}, Required: true}}}
)

func (a API) install(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		Source   *string `json:"source"`
		Ref      *string `json:"ref"`
		RepoPath *string `json:"repo_path"`
		Force    bool    `json:"force"`
	}
	if err := rest.CheckBody(r, installForm); err != nil {
		return err
	}
	if err := rest.Body(r, &body); err != nil {
		return err
	}
	if err := rest.NotEmpty(body.Source, "body", "source"); err != nil {
		return err
	}
	info, err := a.Store.Install(r.Context(), Source{Source: *body.Source, Ref: body.Ref, RepoPath: body.RepoPath}, body.Force)
	if err == nil {
		return rest.JSON(w, http.StatusOK, a.Show(info))
	}
	a.Log.Info("not installed", "what", a.Noun, "err", err)
	switch {
	case errors.Is(err, ErrFetch):
		return rest.Fail(http.StatusBadRequest, "Failed to fetch "+a.Noun+" source. Check that the source is valid.")
	case fault.Is(err, fault.Conflict):
		return rest.Fail(http.StatusConflict, a.title()+" already installed. Use force=true to overwrite.")
	case fault.Is(err, fault.Invalid):
		return rest.Fail(http.StatusUnprocessableEntity, "Invalid "+a.Noun+". Ensure "+a.Invalid+".")
	}
	return err
}

func (a API) list(w http.ResponseWriter, _ *http.Request) error {
	infos, err := a.Store.List()
	if err != nil {
		return err
	}
	list := make([]any, 0, len(infos))
	for _, i := range infos {
		list = append(list, a.Show(i))
	}
	return rest.JSON(w, http.StatusOK, map[string]any{a.Noun + "s": list})
}

func (a API) named(r *http.Request) (string, error) {
	return rest.PathMatch(r, a.Noun+"_name", Name, NamePattern)
}

// absent words the error of one that is not installed.
func (a API) absent(name string, err error) error {
	if fault.Is(err, fault.NotFound) {
		return rest.Fail(http.StatusNotFound, fmt.Sprintf("%s '%s' is not installed", a.title(), name))
	}
	return err
}

func (a API) get(w http.ResponseWriter, r *http.Request) error {
	name, err := a.named(r)
	if err != nil {
		return err
	}
	info, err := a.Store.Get(name)
	if err != nil {
		return a.absent(name, err)
	}
	return rest.JSON(w, http.StatusOK, a.Show(info))
}

func (a API) enable(w http.ResponseWriter, r *http.Request) error {
	name, err := a.named(r)
	if err != nil {
		return err
	}
	var body struct {
		Enabled *bool `json:"enabled"`
	}
	if err := rest.CheckBody(r, enableForm); err != nil {
		return err
	}
	if err := rest.Body(r, &body); err != nil {
		return err
	}
	if body.Enabled == nil {
		return schema.Missing("body", "enabled")
	}
	if err := a.Store.SetEnabled(name, *body.Enabled); err != nil {
		return a.absent(name, err)
	}
	return rest.JSON(w, http.StatusOK, struct {
		Name    string `json:"name"`
		Enabled bool   `json:"enabled"`
	}{name, *body.Enabled})
}

func (a API) uninstall(w http.ResponseWriter, r *http.Request) error {
	name, err := a.named(r)
	if err != nil {
		return err
	}
	if err := a.Store.Uninstall(name); err != nil {
		return a.absent(name, err)
	}
	return rest.JSON(w, http.StatusOK, map[string]any{"message": fmt.Sprintf("%s '%s' uninstalled", a.title(), name)})
}

func (a API) refresh(w http.ResponseWriter, r *http.Request) error {
	name, err := a.named(r)
	if err != nil {
		return err
	}
	info, err := a.Store.Update(r.Context(), name)
	switch {
	case errors.Is(err, ErrFetch):
		return rest.Fail(http.StatusBadRequest, fmt.Sprintf("Failed to fetch the source of %s '%s'. The installed copy was kept.", a.Noun, name))
	case fault.Is(err, fault.Invalid):
		return rest.Fail(http.StatusUnprocessableEntity,
			fmt.Sprintf("The source of %s '%s' no longer holds a valid %s. The installed copy was kept.", a.Noun, name, a.Noun))
	case err != nil:
		return a.absent(name, err)
	}
	return rest.JSON(w, http.StatusOK, map[string]any{"message": fmt.Sprintf("%s '%s' updated", a.title(), name), a.Noun: a.Show(info)})
}
