// Package installation serves the routes by which skills and plugins are installed, shown,
// enabled, refreshed and removed (docs/openhands/sdk-wire.md section 10).
//
// # Usage
//
//	routes := installation.API{Store: store, Noun: "skill", Show: show, Log: log}.Routes()
//
// # Concurrency and failure
//
// Safe for concurrent use. The errors of package installed become the reference's answers.
package installation

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/plugin/gitsource"
	"github.com/deft-dev/deft/plugin/installed"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/spec"
)

// namePattern is [installed.Name] as the API shows it.
const namePattern = `^[a-z0-9]+(-[a-z0-9]+)*$`

// API serves the routes of a store.
type API struct {
	Store *installed.Store
	// Noun is the kind of installed things, as in paths and answers: "skill".
	Noun string
	// Invalid describes a valid source.
	Invalid string
	// Show returns the answer about an installed one.
	Show func(installed.Info) any
	Log  *slog.Logger
}

// Shape is the form of an installed thing in answers.
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
func ShapeOf(i installed.Info) Shape {
	return Shape{
		i.Name, i.Version, i.Description, i.Enabled, gitsource.Shown(i.Source), i.ResolvedRef, i.RepoPath, i.InstalledAt, i.InstallPath,
	}
}

// Routes returns the operations.
func (a API) Routes() []rest.Route {
	base := "/api/" + a.Noun + "s/"
	one := base + "installed/{" + a.Noun + "_name}"
	tag := a.title() + "s"
	return []rest.Route{
		{Method: "POST", Path: base + "install", Tag: tag, Scope: rest.Account, Handle: a.install},
		{Method: "GET", Path: base + "installed", Tag: tag, Scope: rest.Account, Handle: a.list},
		{Method: "GET", Path: one, Tag: tag, Scope: rest.Account, Handle: a.get},
		{Method: "PATCH", Path: one, Tag: tag, Scope: rest.Account, Handle: a.enable},
		{Method: "DELETE", Path: one, Tag: tag, Scope: rest.Account, Handle: a.uninstall},
		{Method: "POST", Path: one + "/refresh", Tag: tag, Scope: rest.Account, Handle: a.refresh},
	}
}

func (a API) title() string { return strings.ToUpper(a.Noun[:1]) + a.Noun[1:] }

// Skills and plugins have the same bodies.
var (
	installSchema = spec.Reference("InstallSkillRequest", schema.Object{})
	enableSchema  = spec.Reference("UpdateSkillStateRequest", schema.Object{})
)

func (a API) install(w http.ResponseWriter, r *http.Request) error {
	m, err := rest.BodyAs(r, installSchema)
	if err != nil {
		return err
	}
	var from gitsource.Source
	if err := schema.Into(m, &from); err != nil {
		return err
	}
	info, err := a.Store.Install(r.Context(), from, m.Get("force") == true, nil)
	if err == nil {
		return rest.JSON(w, http.StatusOK, a.Show(info))
	}
	a.Log.Info("nothing was installed", "what", a.Noun, "err", err)
	switch {
	case errors.Is(err, gitsource.ErrFetch):
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
	return rest.PathMatch(r, a.Noun+"_name", installed.Name(), namePattern)
}

// notInstalled words the error of one that is not installed as the reference does.
func (a API) notInstalled(name string, err error) error {
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
		return a.notInstalled(name, err)
	}
	return rest.JSON(w, http.StatusOK, a.Show(info))
}

func (a API) enable(w http.ResponseWriter, r *http.Request) error {
	name, err := a.named(r)
	if err != nil {
		return err
	}
	body := struct {
		Name    string `json:"name"`
		Enabled bool   `json:"enabled"`
	}{Name: name}
	if err := rest.Read(r, enableSchema, &body); err != nil {
		return err
	}
	if err := a.Store.SetEnabled(r.Context(), name, body.Enabled); err != nil {
		return a.notInstalled(name, err)
	}
	return rest.JSON(w, http.StatusOK, body)
}

func (a API) uninstall(w http.ResponseWriter, r *http.Request) error {
	name, err := a.named(r)
	if err != nil {
		return err
	}
	if err := a.Store.Uninstall(r.Context(), name); err != nil {
		return a.notInstalled(name, err)
	}
	return rest.JSON(w, http.StatusOK, map[string]any{"message": fmt.Sprintf("%s '%s' uninstalled", a.title(), name)})
}

func (a API) refresh(w http.ResponseWriter, r *http.Request) error {
	name, err := a.named(r)
	if err != nil {
		return err
	}
	info, err := a.Store.Update(r.Context(), name, nil)
	switch {
	case errors.Is(err, gitsource.ErrFetch):
		return rest.Fail(http.StatusBadRequest, fmt.Sprintf("Failed to fetch the source of %s '%s'. The installed copy was kept.", a.Noun, name))
	case fault.Is(err, fault.Invalid):
		return rest.Fail(http.StatusUnprocessableEntity,
			fmt.Sprintf("The source of %s '%s' no longer holds a valid %s. The installed copy was kept.", a.Noun, name, a.Noun))
	case err != nil:
		return a.notInstalled(name, err)
	}
	return rest.JSON(w, http.StatusOK, map[string]any{"message": fmt.Sprintf("%s '%s' updated", a.title(), name), a.Noun: a.Show(info)})
}
