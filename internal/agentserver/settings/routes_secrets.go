package settings

import (
	"io"
	"net/http"
	"slices"
	"strconv"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/agentserver/rest"
	"github.com/deft-dev/deft/internal/settings"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/spec"
)

func (s server) listSecrets(w http.ResponseWriter, r *http.Request) error {
	list, err := s.Secrets()
	if err != nil {
		return err
	}
	if q := rest.QueryOf(r); q.Has("agent_profile_id") {
		id := q.String("agent_profile_id", "")
		p, err := s.Profiles.Agents.ByID(r.Context(), id)
		if fault.Is(err, fault.NotFound) {
			return fault.New(fault.NotFound, "Agent profile not found")
		}
		if err != nil {
			return err
		}
		if refs, ok := p.Get("secret_refs").([]any); ok {
			list = slices.DeleteFunc(list, func(one settings.SecretItem) bool { return !slices.Contains(refs, any(one.Name)) })
		}
	}
	return rest.JSON(w, http.StatusOK, map[string][]settings.SecretItem{"secrets": list})
}

func checkSecretName(name string) error {
	if settings.SecretNames.MatchString(name) {
		return nil
	}
	return rest.Fail(http.StatusUnprocessableEntity, "Invalid secret name format. Must start with a letter, contain only "+
		"letters, numbers, and underscores, and be 1-64 characters long.")
}

func (s server) getSecret(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("name")
	if err := checkSecretName(name); err != nil {
		return err
	}
	value, err := s.Secret(r.Context(), name)
	if err != nil {
		return err
	}
	s.log.Info("a secret was read", "name", name, "client", r.RemoteAddr)
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

func (s server) putSecret(w http.ResponseWriter, r *http.Request) error {
	m, err := rest.BodyAs(r, secretBody)
	if err != nil {
		return err
	}
	name, value := m.Text("name"), m.Text("value")
	if err := checkSecretName(name); err != nil {
		return err
	}
	if !settings.UsableSecret(value) {
		return rest.Fail(http.StatusUnprocessableEntity, "Secret value must not be empty or redacted")
	}
	description := m.Pointer("description")
	if err := s.SetSecret(r.Context(), name, llm.Secret(value), description); err != nil {
		return err
	}
	return rest.JSON(w, http.StatusOK, settings.SecretItem{Name: name, Description: description})
}

func (s server) deleteSecret(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("name")
	if err := checkSecretName(name); err != nil {
		return err
	}
	if err := s.DeleteSecret(r.Context(), name); err != nil {
		return err
	}
	return rest.JSON(w, http.StatusOK, map[string]bool{"deleted": true})
}
