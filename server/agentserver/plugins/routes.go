package plugins

import (
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/deft-dev/deft/plugin"
	"github.com/deft-dev/deft/plugin/installed"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/agentserver/installation"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/spec"
)

// Routes returns the operations.
func (s *Service) Routes() []rest.Route {
	const tag = "Plugins"
	own := []rest.Route{
		{Method: "POST", Path: "/api/plugins", Tag: tag, Scope: rest.Account, Handle: s.list},
		{Method: "POST", Path: "/api/plugins/fetch", Tag: tag, Scope: rest.Account, Handle: s.fetch},
		{Method: "GET", Path: "/api/plugins/marketplace", Tag: tag, Unsupported: true, Scope: rest.Account, Handle: s.marketplace},
	}
	return append(own, installation.API{
		Store: s.installed, Noun: "plugin", Invalid: "it has a valid kebab-case name", Log: s.o.Log, Show: s.show,
	}.Routes()...)
}

var (
	listSchema  = spec.Reference("PluginsRequest", schema.Object{})
	fetchSchema = spec.Reference("FetchPluginRequest", schema.Object{},
		schema.Field{Name: "secrets", Type: schema.Opt(spec.SecretSources)})
)

// staticSecrets returns the secrets whose values the request has. Those that
// would have to be looked up elsewhere are missing.
func staticSecrets(m *schema.Map) map[string]string {
	out := map[string]string{}
	for _, name := range m.Keys() {
		switch v := m.Get(name).(type) {
		case string:
			out[name] = v
		case *schema.Map:
			value, ok := v.Get("value").(string)
			if kind := v.Text("kind"); ok && (kind == "" || kind == "StaticSecret") {
				out[name] = value
			}
		}
	}
	return out
}

// Summary is a skill of a plugin as the API lists it.
type Summary struct {
	Name        string  `json:"name"`
	Description *string `json:"description"`
}

// summaries lists the skills and commands of a plugin.
func summaries(p plugin.Plugin) []Summary {
	list := make([]Summary, 0, len(p.Skills)+len(p.Commands))
	for _, s := range slices.Concat(p.Skills, p.Commands) {
		list = append(list, Summary{s.Name, s.Description})
	}
	return list
}

// available is a plugin as POST /api/plugins lists it.
type available struct {
	Name        string    `json:"name"`
	Version     string    `json:"version"`
	Description string    `json:"description"`
	Path        string    `json:"path"`
	Skills      []Summary `json:"skills"`
	Files       []string  `json:"files"`
}

func (s *Service) list(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		User       bool   `json:"load_user"`
		Project    bool   `json:"load_project"`
		ProjectDir string `json:"project_dir"`
	}
	if err := rest.Read(r, listSchema, &body); err != nil {
		return err
	}
	if err := s.o.CheckProject.Check(body.Project, body.ProjectDir); err != nil {
		return err
	}
	list := []available{}
	for _, p := range s.Available(body.User, body.Project, body.ProjectDir) {
		list = append(list, available{p.Name, p.Version, p.Description, p.Path, summaries(p), p.Files()})
	}
	return rest.JSON(w, http.StatusOK, map[string]any{"plugins": list})
}

func (s *Service) fetch(w http.ResponseWriter, r *http.Request) error {
	m, err := rest.BodyAs(r, fetchSchema)
	if err != nil {
		return err
	}
	var limit struct {
		Seconds int `json:"timeout"`
	}
	f := Fetch{Secrets: staticSecrets(m.Object("secrets"))}
	if err := errors.Join(schema.Into(m, &f.Source), schema.Into(m, &limit)); err != nil {
		return err
	}
	f.Limit = time.Duration(limit.Seconds) * time.Second
	got, err := s.Fetch(r.Context(), f)
	if err != nil {
		return err
	}
	return rest.JSON(w, http.StatusOK, got)
}

// marketplace lists nothing, as the reference does when it cannot fetch its
// marketplace: Deft does not read marketplaces.
func (s *Service) marketplace(w http.ResponseWriter, _ *http.Request) error {
	return rest.JSON(w, http.StatusOK, map[string]any{"plugins": []any{}})
}

// shown is an installed plugin as the API shows it.
type shown struct {
	installation.Shape
	Skills *[]Summary `json:"skills"` // null if it cannot be read
	Files  *[]string  `json:"files"`
}

func (s *Service) show(i installed.Info) any {
	skills, files := s.contents(i.InstallPath)
	return shown{installation.ShapeOf(i), skills, files}
}
