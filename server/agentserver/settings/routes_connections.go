package settings

import (
	"errors"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/settings"
	"github.com/deft-dev/deft/settings/profiles"
	"github.com/deft-dev/deft/spec"
)

// connection is a provider connection as clients see it: without its key.
type connection struct {
	profiles.Connection
	APIKey    *string `json:"api_key,omitempty"` // nil; takes the place of the key
	APIKeySet bool    `json:"api_key_set"`
}

func shown(c profiles.Connection) connection {
	return connection{Connection: c, APIKeySet: c.APIKey != ""}
}

func (s server) listConnections(r *http.Request) (any, error) {
	list, err := s.Profiles.Connections.List(r.Context())
	out := make([]connection, len(list))
	for i, c := range list {
		out[i] = shown(c)
	}
	return out, err
}

// listed is listConnections in the form of organizations.
func (s server) listed(r *http.Request) (any, error) {
	list, err := s.listConnections(r)
	return map[string]any{"connections": list}, err
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

func (s server) createConnection(r *http.Request) (any, error) {
	c := profiles.Connection{ID: strings.ReplaceAll(uuid.NewString(), "-", "")}
	if err := rest.Read(r, createBody, &c); err != nil {
		return nil, err
	}
	c, err := s.Profiles.Connections.Create(r.Context(), c)
	return shown(c), err
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

func (s server) updateConnection(r *http.Request) (any, error) {
	m, sent, err := given(r, updateBody)
	if err != nil {
		return nil, err
	}
	if sent.Len() == 0 {
		return nil, unprocessable("Provide at least one provider connection field to update")
	}
	id := r.PathValue("connection_id")
	if _, err := s.Profiles.Connections.Get(r.Context(), id); err != nil {
		return nil, err
	}
	if key, ok := sent.Lookup("api_key"); ok && key == nil {
		return nil, unprocessable("api_key cannot be cleared; provide a new key to rotate it")
	}
	c, err := s.Profiles.Connections.Update(r.Context(), id, func(c *profiles.Connection) error {
		if v, ok := sent.Lookup("base_url"); ok && v == nil {
			c.BaseURL = nil
		}
		return schema.Into(m, c)
	})
	return shown(c), err
}

func (s server) deleteConnection(r *http.Request) (any, error) {
	id := r.PathValue("connection_id")
	c, err := s.Profiles.Connections.Get(r.Context(), id)
	if err != nil {
		return nil, err
	}
	if err := s.UnusedConnection(r.Context(), id); err != nil {
		return nil, err
	}
	c.APIKey = ""
	return shown(c), s.Profiles.Connections.Delete(r.Context(), id)
}
