package settings

import (
	"context"
	"errors"
	"net/http"

	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/settings"
	"github.com/deft-dev/deft/settings/profiles"
	"github.com/deft-dev/deft/spec"
)

// agents are the operations on agent profiles.
func agents() []operation {
	return operations(named{
		what: "Agent profile", listKey: "profiles",
		list: func(s server, ctx context.Context) (any, error) {
			if _, err := s.EnsureActive(ctx); err != nil { // one is always active
				return nil, err
			}
			return s.Profiles.Agents.List(ctx)
		},
		active: func(doc *settings.Document) (string, *string) {
			return "active_agent_profile_id", doc.ActiveAgentProfile
		},
		get: func(s server, r *http.Request, name string) (any, error) {
			p, err := s.Profiles.Agents.Load(r.Context(), name)
			return schema.Of("name", name, "profile", p), err
		},
		save: func(s server, r *http.Request, name string) error {
			v, err := rest.RequiredDocument(r)
			if err != nil {
				return err
			}
			p, err := checkProfile(v, name)
			if err != nil {
				return err
			}
			return s.Profiles.Agents.Save(r.Context(), p)
		},
		remove: server.DeleteAgentProfile,
		rename: func(s server, ctx context.Context, from, to string) error {
			return s.Profiles.Agents.Rename(ctx, from, to)
		},
	},
		operation{"POST", "/{profile_id}/activate", server.activateAgent, 0},
		operation{"POST", "/{name}/materialize", byName(server.materialize), 0},
	)
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
	if _, bad := errors.AsType[schema.Violations](err); err != nil && !bad {
		return nil, unprocessable("Invalid agent profile")
	}
	return p, err
}

func (s server) activateAgent(r *http.Request) (any, error) {
	id := r.PathValue("profile_id")
	if _, err := schema.Check(schema.String{Min: 1, Max: 128}, id, schema.Reading{}, "path", "profile_id"); err != nil {
		return nil, err
	}
	if _, err := s.Profiles.Agents.NameOf(r.Context(), id); err != nil {
		return nil, err
	}
	_, err := s.Change(r.Context(), func(d *settings.Document) error {
		d.ActiveAgentProfile = &id
		return nil
	})
	if errors.Is(err, settings.ErrBlocked) { // which the client cannot repair
		return nil, rest.Fail(http.StatusInternalServerError, "Failed to activate agent profile")
	}
	return map[string]any{"id": id, "message": "Agent profile '" + id + "' activated", "agent_settings_applied": false}, err
}

var draftBody = spec.Reference("MaterializeAgentProfileRequest", schema.Object{}, schema.Field{Name: "profile", Type: schema.Opt(schema.Dict{Of: schema.Any{}})})

// materialize previews a profile: the saved one, or the draft in the body.
func (s server) materialize(r *http.Request, name string) (any, error) {
	var body struct {
		Profile *schema.Map `json:"profile"`
	}
	err := rest.ReadOptional(r, draftBody, &body)
	if err != nil {
		return nil, err
	}
	p := body.Profile
	if p != nil {
		p, err = checkProfile(p, name)
	} else {
		p, err = s.Profiles.Agents.Load(r.Context(), name)
	}
	if err != nil {
		return nil, err
	}
	return s.Preview(r.Context(), p)
}
