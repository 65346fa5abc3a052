package plugins

import (
	"net/http"
	"slices"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/identity"
	"github.com/deft-dev/deft/internal/optional"
	"github.com/deft-dev/deft/plugin"
	"github.com/deft-dev/deft/plugin/gitsource"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/settings"
)

var marketplaceForm = &schema.Object{Name: "AddMarketplace", Fields: append([]schema.Field{
	{Name: "name", Type: schema.String{Min: 1, Max: 100}, Required: true},
	{Name: "source", Type: schema.String{Min: 1, Max: 4096}, Required: true},
}, sourceFields...)}

// shop is a marketplace as the page lists it.
type shop struct {
	Name     string  `json:"name"`
	Source   string  `json:"source"`
	Ref      *string `json:"ref"`
	RepoPath *string `json:"repo_path"`
}

// offer is a plugin of a marketplace.
type offer struct {
	Name        string `json:"name"`
	Version     string `json:"version"`
	Description string `json:"description"`
	// Why says why it cannot be installed; "" if it can.
	Why string `json:"why"`
}

func (s *Service) settings(r *http.Request) (*settings.Service, error) {
	if err := owner(r); err != nil {
		return nil, err
	}
	return s.o.Settings(r.Context(), identity.LocalTenant)
}

// registered are the marketplaces of the settings.
func (s *Service) registered(r *http.Request) ([]plugin.Registration, error) {
	of, err := s.settings(r)
	if err != nil {
		return nil, err
	}
	all, err := of.Marketplaces()
	if err != nil {
		return nil, err
	}
	out := make([]plugin.Registration, len(all))
	for i, m := range all {
		out[i].Name = m.Text("name")
		if err := schema.Into(m, &out[i].From); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (s *Service) marketplaces(r *http.Request) (any, error) {
	all, err := s.registered(r)
	if err != nil {
		return nil, err
	}
	out := []shop{}
	for _, one := range all {
		out = append(out, shop{one.Name, gitsource.Shown(one.From.Source), one.From.Ref, one.From.RepoPath})
	}
	return map[string]any{"marketplaces": out}, nil
}

// marketplace lists the plugins of a registered marketplace.
func (s *Service) marketplace(r *http.Request) (any, error) {
	all, err := s.registered(r)
	if err != nil {
		return nil, err
	}
	name := r.PathValue("name")
	i := slices.IndexFunc(all, func(one plugin.Registration) bool { return one.Name == name })
	if i < 0 {
		return nil, fault.New(fault.NotFound, "there is no marketplace "+name)
	}
	m, err := s.loader.Preview(r.Context(), all[i].From)
	if err != nil {
		return nil, err
	}
	out := []offer{}
	for _, e := range m.Plugins {
		out = append(out, offer{e.Name, e.Version, optional.Value(e.Description), e.Why})
	}
	return map[string]any{"plugins": out}, nil
}

// addMarketplace registers a marketplace that can be read.
func (s *Service) addMarketplace(r *http.Request) (any, error) {
	of, err := s.settings(r)
	if err != nil {
		return nil, err
	}
	m, err := rest.BodyAs(r, marketplaceForm)
	if err != nil {
		return nil, err
	}
	var from plugin.Source
	if err := schema.Into(m, &from); err != nil {
		return nil, err
	}
	found, err := s.loader.Preview(r.Context(), from)
	if err != nil {
		return nil, err
	}
	if len(found.Plugins) == 0 {
		return nil, fault.New(fault.Invalid, from.Source+" names no plugins").Hint("a marketplace has a .plugin/marketplace.json or a .claude-plugin/marketplace.json")
	}
	return nil, of.AddMarketplace(r.Context(), m)
}

func (s *Service) removeMarketplace(r *http.Request) (any, error) {
	of, err := s.settings(r)
	if err != nil {
		return nil, err
	}
	return nil, of.RemoveMarketplace(r.Context(), r.PathValue("name"))
}
