package settings

import (
	"context"
	"errors"
	"net/http"

	"github.com/deft-dev/deft/internal/agentserver/rest"
	"github.com/deft-dev/deft/internal/settings"
	"github.com/deft-dev/deft/internal/settings/profiles"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/spec"
)

// agentRoutes are the operations on agent profiles.
func (s server) agentRoutes() []rest.Route {
	return namedStore{
		what: "Agent profile",
		list: listing(s, s.listAgents, func(list []profiles.AgentSummary, doc *settings.Document) any {
			return struct {
				Profiles []profiles.AgentSummary `json:"profiles"`
				Active   *string                 `json:"active_agent_profile_id"`
			}{list, doc.ActiveAgentProfile}
		}),
		get: s.getAgent, save: s.saveAgent, remove: s.DeleteAgentProfile, rename: s.Profiles.Agents.Rename,
	}.routes(
		rest.Route{Method: "POST", Path: "/{profile_id}/activate", Handle: s.activateAgent},
		rest.Route{Method: "POST", Path: "/{name}/materialize", Handle: byName(s.materialize)},
	)
}

// listAgents returns the agent profiles, of which one is always active.
func (s server) listAgents(ctx context.Context) ([]profiles.AgentSummary, error) {
	if _, err := s.EnsureActive(ctx); err != nil {
		return nil, err
	}
	return s.Profiles.Agents.List(ctx)
}

func (s server) getAgent(w http.ResponseWriter, r *http.Request, name string) error {
	p, err := s.Profiles.Agents.Load(r.Context(), name)
	if err != nil {
		return err
	}
	return rest.JSON(w, http.StatusOK, schema.Of("name", name, "profile", p))
}

// checkProfile returns a profile of a request in its normal form. The name in
// the path is its name.
func checkProfile(v any, name string) (*schema.Map, error) {
	m, ok := v.(*schema.Map)
	if !ok {
		return nil, schema.Violations{{Type: "dict_type", Loc: []any{"body"}, Msg: "Input should be a valid dictionary"}}
	}
	m = m.Copy()
	m.Set("name", name)
	p, err := profiles.ValidateAgent(m)
	var bad schema.Violations
	switch {
	case errors.As(err, &bad):
		return nil, bad
	case err != nil:
		return nil, rest.Fail(http.StatusUnprocessableEntity, "Invalid agent profile")
	}
	return p, nil
}

func (s server) saveAgent(r *http.Request, name string) error {
	v, err := rest.RequiredDocument(r)
	if err != nil {
		return err
	}
	p, err := checkProfile(v, name)
	if err != nil {
		return err
	}
	return s.Profiles.Agents.Save(r.Context(), p)
}

func (s server) activateAgent(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("profile_id")
	if _, err := schema.Check(schema.String{Min: 1, Max: 128}, id, schema.Reading{}, "path", "profile_id"); err != nil {
		return err
	}
	if _, err := s.Profiles.Agents.NameOf(r.Context(), id); err != nil {
		return err
	}
	_, err := s.Change(r.Context(), func(d *settings.Document) error {
		d.ActiveAgentProfile = &id
		return nil
	})
	if errors.Is(err, settings.ErrBlocked) { // which the client cannot repair
		return rest.Fail(http.StatusInternalServerError, "Failed to activate agent profile")
	}
	if err != nil {
		return err
	}
	return rest.JSON(w, http.StatusOK, struct {
		ID      string `json:"id"`
		Message string `json:"message"`
		Applied bool   `json:"agent_settings_applied"`
	}{id, "Agent profile '" + id + "' activated", false})
}

var draftBody = spec.Reference("MaterializeAgentProfileRequest", schema.Object{}, schema.Field{Name: "profile", Type: schema.Opt(schema.Dict{Of: schema.Any{}})})

// materialize previews a profile: the saved one, or the draft in the body.
func (s server) materialize(w http.ResponseWriter, r *http.Request, name string) error {
	p, err := s.draft(r, name)
	if err != nil {
		return err
	}
	if p == nil {
		if p, err = s.Profiles.Agents.Load(r.Context(), name); err != nil {
			return err
		}
	}
	d, err := s.Preview(r.Context(), p)
	if err != nil {
		return err
	}
	return rest.JSON(w, http.StatusOK, d)
}

// draft returns the profile in the body, nil where there is none.
func (s server) draft(r *http.Request, name string) (*schema.Map, error) {
	v, sent, err := rest.Document(r)
	if err != nil || !sent || v == nil {
		return nil, err
	}
	m, err := draftBody.Check(v, schema.Reading{}, "body")
	if err != nil || m.Get("profile") == nil {
		return nil, err
	}
	return checkProfile(m.Get("profile"), name)
}
