package settings

import (
	"io"
	"net/http"
	"slices"
	"strconv"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/settings"
	"github.com/deft-dev/deft/spec"
)

func (s server) listSecrets(r *http.Request) (any, error) {
	list, err := s.Secrets()
	if err != nil {
		return nil, err
	}
	if q := rest.QueryOf(r); q.Has("agent_profile_id") {
		p, err := s.Profiles.Agents.ByID(r.Context(), q.String("agent_profile_id", ""))
		if fault.Is(err, fault.NotFound) {
			return nil, fault.New(fault.NotFound, "Agent profile not found")
		}
		if err != nil {
			return nil, err
		}
		if refs, ok := p.Get("secret_refs").([]any); ok {
			list = slices.DeleteFunc(list, func(one settings.SecretItem) bool { return !slices.Contains(refs, any(one.Name)) })
		}
	}
	return map[string][]settings.SecretItem{"secrets": list}, nil
}

func checkSecretName(name string) error {
	if settings.SecretNames.MatchString(name) {
		return nil
	}
	return unprocessable("Invalid secret name format. Must start with a letter, contain only " +
		"letters, numbers, and underscores, and be 1-64 characters long.")
}

// getSecret answers with the value as plain text.
func (t routes) getSecret(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("name")
	if err := checkSecretName(name); err != nil {
		return err
	}
	s, err := t.server(r.Context())
	if err != nil {
		return err
	}
	value, err := s.Secret(r.Context(), name)
	if err != nil {
		return refused(err)
	}
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(len(value.Reveal())))
	w.WriteHeader(http.StatusOK)
	if _, err := io.WriteString(w, value.Reveal()); err != nil {
		return rest.ErrBroken
	}
	return nil
}

var secretBody = spec.Reference("SecretCreateRequest", schema.Object{}, schema.Field{Name: "value", Type: schema.String{}})

func (s server) putSecret(r *http.Request) (any, error) {
	m, err := rest.BodyAs(r, secretBody)
	if err != nil {
		return nil, err
	}
	name, value := m.Text("name"), m.Text("value")
	if err := checkSecretName(name); err != nil {
		return nil, err
	}
	if !settings.UsableSecret(value) {
		return nil, unprocessable("Secret value must not be empty or redacted")
	}
	description := m.Pointer("description")
	return settings.SecretItem{Name: name, Description: description}, s.SetSecret(r.Context(), name, llm.Secret(value), description)
}

func (s server) deleteSecret(r *http.Request) (any, error) {
	name := r.PathValue("name")
	if err := checkSecretName(name); err != nil {
		return nil, err
	}
	return map[string]bool{"deleted": true}, s.DeleteSecret(r.Context(), name)
}
