// Package plugins serves the user's plugins and marketplaces to the web app, below
// /api/v1/plugins and /api/v1/plugin-marketplaces. The routes are Deft's own.
//
// # Usage
//
//	s := plugins.New(plugins.Options{Home: home, Persistence: dir, Settings: owners.Of})
//	routes := s.Routes()
//
// # Trust
//
// Plugins are of the user of this machine, as with `deft plugins`: other users of a server have
// none. Nothing of a plugin is run. Who installs one that runs programs allows the lines
// that describe them; others than those are asked about again.
//
// # Concurrency and failure
//
// Safe for concurrent use. A source that cannot be fetched, and a name that is not there, are
// errors of package fault.
package plugins

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/internal/optional"
	"github.com/deft-dev/deft/plugin"
	"github.com/deft-dev/deft/plugin/gitsource"
	"github.com/deft-dev/deft/plugin/installed"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/settings"
)

// Options say where plugins are. All are required.
type Options struct {
	Home        string // of the user of this machine
	Persistence string // OH_PERSISTENCE_DIR, or ~/.openhands
	// Directories lets the user name directories of this machine as sources.
	Directories bool
	// Settings returns an owner's settings, which have the marketplaces.
	Settings func(ctx context.Context, owner identity.Tenant) (*settings.Service, error)
}

// Service has the operations.
type Service struct {
	o         Options
	catalog   plugin.Catalog
	installed *installed.Store
	loader    plugin.Loader
}

// New returns a service.
func New(o Options) *Service {
	return &Service{
		o: o, catalog: plugin.NewCatalog(o.Home, o.Persistence, ""),
		installed: installed.New(plugin.InstalledDir(o.Persistence), plugin.Describe),
		loader:    plugin.Loader{Local: func(context.Context) bool { return o.Directories }},
	}
}

// Routes returns the operations.
func (s *Service) Routes() []rest.Route {
	const base, one, shops = "/api/v1/plugins", "/api/v1/plugins/{name}", "/api/v1/plugin-marketplaces"
	r := func(method, path string, h rest.Valued) rest.Route {
		return rest.Route{Method: method, Path: path, Tag: "Plugins", Limit: 1 << 20, Scope: rest.Account, Handle: rest.Value(rest.Worded(h))}
	}
	return []rest.Route{
		r("GET", base, s.list),
		rest.Costly(r("POST", base, s.install)),
		r("PATCH", one, s.enable),
		r("DELETE", one, s.remove),
		rest.Costly(r("POST", one+"/update", s.update)),
		r("GET", shops, s.marketplaces),
		rest.Costly(r("POST", shops, s.addMarketplace)),
		rest.Costly(r("GET", shops+"/{name}", s.marketplace)),
		r("DELETE", shops+"/{name}", s.removeMarketplace),
	}
}

// shown is a plugin as the page shows it.
type shown struct {
	Name        string `json:"name"`
	Version     string `json:"version"`
	Description string `json:"description"`
	Enabled     bool   `json:"enabled"`
	// Installed says that it can be switched off, updated and removed here.
	Installed bool     `json:"installed"`
	Source    string   `json:"source"`
	Commit    *string  `json:"commit"`
	Brings    []string `json:"brings"`
	Runs      []string `json:"runs"`
	Problems  []string `json:"problems"`
}

func shownOf(p plugin.Plugin) shown {
	list := func(lines []string) []string { return append([]string{}, lines...) }
	return shown{
		Name: p.Name, Version: p.Version, Description: p.Description, Source: p.Path,
		Brings: list(p.Brings()), Runs: list(p.Runs()), Problems: list(p.Problems()),
	}
}

// describe shows an installed plugin, also one that cannot be read.
func describe(i installed.Info) shown {
	p, err := plugin.Load(i.InstallPath)
	out := shownOf(p)
	if err != nil {
		out.Problems = append(out.Problems, err.Error())
	}
	out.Name, out.Version, out.Description = i.Name, i.Version, i.Description
	out.Enabled, out.Installed, out.Source, out.Commit = i.Enabled, true, gitsource.Shown(i.Source), i.ResolvedRef
	if dir := optional.Value(i.RepoPath); dir != "" {
		out.Source += " " + dir
	}
	return out
}

// isOwner reports whether the caller is the user of this machine.
func isOwner(r *http.Request) bool {
	return identity.CallerOf(r.Context()).Tenant() == identity.LocalTenant
}

// owner refuses users who have no plugins.
func owner(r *http.Request) error {
	if !isOwner(r) {
		return fault.New(fault.Denied, "plugins are installed by the user of this machine").
			Hint("name a plugin's repository when you start a conversation")
	}
	return nil
}

// list shows the user's plugins, and the directories that are none.
func (s *Service) list(r *http.Request) (any, error) {
	out := struct {
		Available bool     `json:"available"`
		Plugins   []shown  `json:"plugins"`
		Problems  []string `json:"problems"`
	}{Plugins: []shown{}, Problems: []string{}}
	if !isOwner(r) {
		return out, nil
	}
	out.Available = true
	all, err := s.installed.List()
	if err != nil {
		return nil, err
	}
	for _, i := range all {
		out.Plugins = append(out.Plugins, describe(i))
	}
	found, warnings := s.catalog.User()
	for _, p := range found {
		if !slices.ContainsFunc(all, func(i installed.Info) bool { return i.InstallPath == p.Path }) {
			own := shownOf(p)
			own.Enabled = true
			out.Plugins = append(out.Plugins, own)
		}
	}
	for _, w := range warnings {
		if !slices.ContainsFunc(all, func(i installed.Info) bool { return i.InstallPath == w.Path }) {
			out.Problems = append(out.Problems, w.Error())
		}
	}
	return out, nil
}

// placed is the answer to an installation: the plugin, or the question about one.
type placed struct {
	Installed bool  `json:"installed"`
	Plugin    shown `json:"plugin"`
}

// question ends an installation that the user has to allow.
type question struct{ plugin shown }

// Error implements error.
func (question) Error() string { return "the plugin runs programs, which has to be allowed" }

// confirm allows a plugin that runs what the caller allows, or what was allowed before.
func confirm(allowed, known []string) installed.Confirm {
	return func(dir string, what installed.Info) error {
		p, err := plugin.Load(dir)
		if err != nil {
			return err
		}
		p.Name = what.Name
		if p.Manifest == nil && len(p.Brings())+len(p.Runs()) == 0 {
			return fault.New(fault.Invalid, "there is no plugin in it: neither a plugin.json nor skills, commands, agents, hooks or MCP servers")
		}
		if runs := p.Runs(); len(runs) > 0 && !slices.Equal(runs, allowed) && !slices.Equal(runs, known) {
			asked := shownOf(p)
			asked.Source, asked.Commit = gitsource.Shown(what.Source), what.ResolvedRef
			return question{asked}
		}
		return nil
	}
}

func answer(i installed.Info, err error) (any, error) {
	if q, ok := errors.AsType[question](err); ok {
		return placed{Plugin: q.plugin}, nil
	}
	if errors.Is(err, gitsource.ErrFetch) {
		return nil, fault.New(fault.Invalid, err.Error()).Hint("check the source, and that this server may reach and read it")
	}
	if err != nil {
		return nil, err
	}
	return placed{true, describe(i)}, nil
}

var (
	sourceFields = []schema.Field{
		{Name: "ref", Type: schema.Opt(schema.String{Max: 1024})},
		{Name: "repo_path", Type: schema.Opt(schema.String{Max: 1024, Valid: gitsource.CheckPath})},
	}
	allowField  = schema.Field{Name: "allow", Type: schema.Opt(schema.List{Of: schema.String{}})}
	installForm = &schema.Object{Name: "InstallPlugin", Fields: append([]schema.Field{
		{Name: "source", Type: schema.String{Min: 1, Max: 4096}, Required: true}, allowField,
	}, sourceFields...)}
	updateForm = &schema.Object{Name: "UpdatePlugin", Fields: []schema.Field{allowField}}
	enableForm = &schema.Object{Name: "SwitchPlugin", Fields: []schema.Field{{Name: "enabled", Type: schema.Bool{}, Required: true}}}
)

// install installs a plugin of a source, or of a marketplace that is named as NAME@MARKETPLACE.
func (s *Service) install(r *http.Request) (any, error) {
	if err := owner(r); err != nil {
		return nil, err
	}
	m, err := rest.BodyAs(r, installForm)
	if err != nil {
		return nil, err
	}
	var from plugin.Source
	if err := schema.Into(m, &from); err != nil {
		return nil, err
	}
	if plugin.Named(from.Source) {
		shops, err := s.registered(r)
		if err != nil {
			return nil, err
		}
		if from, err = s.loader.Resolve(r.Context(), shops, from.Source); err != nil {
			return nil, err
		}
	}
	if err := s.loader.Check(r.Context(), []plugin.Source{from}); err != nil {
		return nil, err
	}
	return answer(s.installed.Install(r.Context(), gitsource.Source(from), false, confirm(texts(m, "allow"), nil)))
}

// texts are the items of a field.
func texts(m *schema.Map, field string) (all []string) {
	list, _ := m.Get(field).([]any)
	for _, one := range list {
		text, _ := one.(string)
		all = append(all, text)
	}
	return all
}

// update fetches a plugin from its source again.
func (s *Service) update(r *http.Request) (any, error) {
	if err := owner(r); err != nil {
		return nil, err
	}
	m, err := rest.BodyAs(r, updateForm)
	if err != nil {
		return nil, err
	}
	old, err := s.installed.Get(r.PathValue("name"))
	if err != nil {
		return nil, err
	}
	var known []string
	if p, err := plugin.Load(old.InstallPath); err == nil {
		known = p.Runs()
	}
	return answer(s.installed.Update(r.Context(), old.Name, confirm(texts(m, "allow"), known)))
}

func (s *Service) enable(r *http.Request) (any, error) {
	if err := owner(r); err != nil {
		return nil, err
	}
	m, err := rest.BodyAs(r, enableForm)
	if err != nil {
		return nil, err
	}
	name := r.PathValue("name")
	if err := s.installed.SetEnabled(r.Context(), name, m.Get("enabled") == true); err != nil {
		return nil, err
	}
	i, err := s.installed.Get(name)
	return describe(i), err
}

func (s *Service) remove(r *http.Request) (any, error) {
	if err := owner(r); err != nil {
		return nil, err
	}
	return nil, s.installed.Uninstall(r.Context(), r.PathValue("name"))
}
