package settings

import (
	"context"
	"net/http"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/agentserver/rest"
	"github.com/deft-dev/deft/internal/agentserver/settings/agentsettings"
	"github.com/deft-dev/deft/internal/agentserver/settings/profiles"
	"github.com/deft-dev/deft/schema"
)

// metaRoutes are the operations on meta-profiles.
func (s *Service) metaRoutes() []rest.Route {
	return namedStore{
		what: "Meta-profile",
		list: listing(s, s.Profiles.Metas.List, func(list []profiles.MetaSummary, doc *Document) any {
			return struct {
				Profiles []profiles.MetaSummary `json:"meta_profiles"`
				Active   *string                `json:"active_meta_profile"`
			}{list, doc.ActiveMetaProfile}
		}),
		get: s.getMeta, save: s.saveMeta, remove: s.deleteMeta,
	}.routes(
		rest.Route{Method: "POST", Path: "/{name}/activate", Handle: byName(s.activateMeta)},
	)
}

func (s *Service) getMeta(w http.ResponseWriter, r *http.Request, name string) error {
	m, err := s.Profiles.Metas.Load(r.Context(), name)
	if err != nil {
		return err
	}
	return rest.JSON(w, http.StatusOK, schema.Of("name", name, "config", m))
}

// routable is a meta-profile that has something to route to; stored ones need
// not.
var routable = func() *schema.Object {
	o := *agentsettings.MetaProfile
	o.After = func(m *schema.Map) error {
		if err := agentsettings.MetaProfile.After(m); err != nil {
			return err
		}
		if classes, _ := m.Get("classes").([]any); len(classes) == 0 && m.Get("prompt_template") == nil {
			return fault.New(fault.Invalid, "A meta-profile needs either classes or a prompt_template to route.")
		}
		return nil
	}
	return &o
}()

func (s *Service) saveMeta(r *http.Request, name string) error {
	m, err := rest.BodyAs(r, routable)
	if err != nil {
		return err
	}
	return s.Profiles.Metas.Save(r.Context(), name, m)
}

func (s *Service) deleteMeta(ctx context.Context, name string) error {
	if err := s.Profiles.Metas.Delete(ctx, name); err != nil {
		return err
	}
	doc, err := s.Load()
	if err != nil {
		return err
	}
	if doc.ActiveMetaProfile != nil && *doc.ActiveMetaProfile == name {
		_, err = s.activate(ctx, nil, nil)
	}
	return err
}

// activate makes a meta-profile the active one, or none, with a copy of it in
// the agent's settings.
func (s *Service) activate(ctx context.Context, name *string, m *schema.Map) (*Document, error) {
	var config any
	if m != nil {
		config = m
	}
	return s.Change(ctx, func(d *Document) error {
		return s.apply(d, Diff{Agent: schema.Of("meta_profile", config), ActiveMetaProfile: &name})
	})
}

func (s *Service) activateMeta(w http.ResponseWriter, r *http.Request, name string) error {
	m, err := s.Profiles.Metas.Load(r.Context(), name)
	if err != nil {
		return err
	}
	doc, err := s.activate(r.Context(), &name, m)
	if err != nil {
		return err
	}
	applied := doc.ActiveMetaProfile != nil && *doc.ActiveMetaProfile == name
	message := "Meta-profile '" + name + "' activated"
	if !applied {
		message = "Meta-profile '" + name + "' not activated: the current agent settings cannot route between models"
	}
	return rest.JSON(w, http.StatusOK, struct {
		done
		Applied bool `json:"applied"`
	}{done{name, message}, applied})
}
