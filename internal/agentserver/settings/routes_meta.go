package settings

import (
	"net/http"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/agentserver/rest"
	"github.com/deft-dev/deft/internal/settings"
	"github.com/deft-dev/deft/internal/settings/agentsettings"
	"github.com/deft-dev/deft/internal/settings/profiles"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/spec"
)

// metaRoutes are the operations on meta-profiles.
func (s server) metaRoutes() []rest.Route {
	return namedStore{
		what: "Meta-profile",
		list: listing(s, s.Profiles.Metas.List, func(list []profiles.MetaSummary, doc *settings.Document) any {
			return struct {
				Profiles []profiles.MetaSummary `json:"meta_profiles"`
				Active   *string                `json:"active_meta_profile"`
			}{list, doc.ActiveMetaProfile}
		}),
		get: s.getMeta, save: s.saveMeta, remove: s.DeleteMeta,
	}.routes(
		rest.Route{Method: "POST", Path: "/{name}/activate", Handle: byName(s.activateMeta)},
	)
}

func (s server) getMeta(w http.ResponseWriter, r *http.Request, name string) error {
	m, err := s.Profiles.Metas.Load(r.Context(), name)
	if err != nil {
		return err
	}
	return rest.JSON(w, http.StatusOK, schema.Of("name", name, "config", m))
}

// routable is a meta-profile that has something to route to; stored ones need
// not.
var routable = spec.Variant("MetaProfile", schema.Object{After: func(m *schema.Map) error {
	if err := agentsettings.CheckMeta(m); err != nil {
		return err
	}
	if classes, _ := m.Get("classes").([]any); len(classes) == 0 && m.Get("prompt_template") == nil {
		return fault.New(fault.Invalid, "A meta-profile needs either classes or a prompt_template to route.")
	}
	return nil
}})

func (s server) saveMeta(r *http.Request, name string) error {
	m, err := rest.BodyAs(r, routable)
	if err != nil {
		return err
	}
	return s.Profiles.Metas.Save(r.Context(), name, m)
}

func (s server) activateMeta(w http.ResponseWriter, r *http.Request, name string) error {
	applied, err := s.ActivateMeta(r.Context(), name)
	if err != nil {
		return err
	}
	message := "Meta-profile '" + name + "' activated"
	if !applied {
		message = "Meta-profile '" + name + "' not activated: the current agent settings cannot route between models"
	}
	return rest.JSON(w, http.StatusOK, struct {
		done
		Applied bool `json:"applied"`
	}{done{name, message}, applied})
}
