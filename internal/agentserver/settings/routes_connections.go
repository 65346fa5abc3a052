package settings

import (
	"errors"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"github.com/deft-dev/deft/internal/agentserver/rest"
	"github.com/deft-dev/deft/internal/settings"
	"github.com/deft-dev/deft/internal/settings/profiles"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/spec"
)

// connection is a provider connection as clients see it.
type connection struct {
	ID          string  `json:"id"`
	DisplayName string  `json:"display_name"`
	Provider    string  `json:"provider"`
	BaseURL     *string `json:"base_url"`
	CreatedAt   int     `json:"created_at"`
	UpdatedAt   int     `json:"updated_at"`
	APIKeySet   bool    `json:"api_key_set"`
}

func shown(c profiles.Connection) connection {
	return connection{c.ID, c.DisplayName, c.Provider, c.BaseURL, c.CreatedAt, c.UpdatedAt, c.APIKey != ""}
}

func (s server) listConnections(w http.ResponseWriter, r *http.Request) error {
	list, err := s.Profiles.Connections.List(r.Context())
	if err != nil {
		return err
	}
	out := make([]connection, len(list))
	for i, c := range list {
		out[i] = shown(c)
	}
	return rest.JSON(w, http.StatusOK, out)
}

// realKey refuses blank and masked keys.
func realKey(key string) error {
	if !settings.UsableSecret(key) {
		return errors.New("api_key must be a real key, not blank or redacted")
	}
	return nil
}

var createBody = spec.Reference("ProviderConnectionCreateRequest", schema.Object{},
	schema.Field{Name: "api_key", Type: schema.String{Min: 1, Valid: realKey}})

func (s server) createConnection(w http.ResponseWriter, r *http.Request) error {
	m, err := rest.BodyAs(r, createBody)
	if err != nil {
		return err
	}
	id := uuid.New()
	c, err := s.Profiles.Connections.Create(r.Context(), profiles.Connection{
		ID: strings.ReplaceAll(id.String(), "-", ""), DisplayName: m.Text("display_name"), Provider: m.Text("provider"),
		APIKey: llm.Secret(m.Text("api_key")), BaseURL: m.Pointer("base_url"),
	})
	if err != nil {
		return err
	}
	return rest.JSON(w, http.StatusCreated, shown(c))
}

var updateBody = spec.Reference("ProviderConnectionUpdateRequest", schema.Object{
	Before: func(m *schema.Map) error {
		for _, k := range []string{"display_name", "provider"} {
			if v, ok := m.Lookup(k); ok && v == nil {
				return errors.New(k + " cannot be set to null")
			}
		}
		return nil
	},
}, schema.Field{Name: "api_key", Type: schema.Opt(schema.String{Valid: realKey})})

func (s server) updateConnection(w http.ResponseWriter, r *http.Request) error {
	v, err := rest.RequiredDocument(r)
	if err != nil {
		return err
	}
	m, err := updateBody.Check(v, schema.Reading{}, "body")
	if err != nil {
		return err
	}
	given, _ := v.(*schema.Map)
	if given.Len() == 0 {
		return rest.Fail(http.StatusUnprocessableEntity, "Provide at least one provider connection field to update")
	}
	id := r.PathValue("connection_id")
	if _, err := s.Profiles.Connections.Get(r.Context(), id); err != nil {
		return err
	}
	if key, ok := given.Lookup("api_key"); ok && key == nil {
		return rest.Fail(http.StatusUnprocessableEntity, "api_key cannot be cleared; provide a new key to rotate it")
	}
	c, err := s.Profiles.Connections.Update(r.Context(), id, func(c *profiles.Connection) {
		if v := m.Pointer("display_name"); v != nil {
			c.DisplayName = *v
		}
		if v := m.Pointer("provider"); v != nil {
			c.Provider = *v
		}
		if v := m.Pointer("api_key"); v != nil {
			c.APIKey = llm.Secret(*v)
		}
		if _, ok := given.Lookup("base_url"); ok {
			c.BaseURL = m.Pointer("base_url")
		}
	})
	if err != nil {
		return err
	}
	return rest.JSON(w, http.StatusOK, shown(c))
}

func (s server) deleteConnection(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("connection_id")
	c, err := s.Profiles.Connections.Get(r.Context(), id)
	if err != nil {
		return err
	}
	if err := s.UnusedConnection(r.Context(), id); err != nil {
		return err
	}
	if err := s.Profiles.Connections.Delete(r.Context(), id); err != nil {
		return err
	}
	c.APIKey = ""
	return rest.JSON(w, http.StatusOK, shown(c))
}
