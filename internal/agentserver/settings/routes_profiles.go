package settings

import (
	"context"
	"net/http"

	"github.com/deft-dev/deft/internal/agentserver/rest"
	"github.com/deft-dev/deft/internal/agentserver/settings/profiles"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/spec"
)

// llmRoutes are the operations on LLM profiles.
func (s *Service) llmRoutes() []rest.Route {
	return namedStore{
		what: "Profile",
		list: listing(s, s.Profiles.LLMs.List, func(list []profiles.Summary, doc *Document) any {
			return struct {
				Profiles []profiles.Summary `json:"profiles"`
				Active   *string            `json:"active_profile"`
			}{list, doc.ActiveProfile}
		}),
		get: s.getLLM, save: s.saveLLM, remove: s.deleteLLM, rename: s.renameLLM,
	}.routes(
		rest.Route{Method: "POST", Path: "/{name}/validate", Handle: byName(s.validateLLM)},
		rest.Route{Method: "POST", Path: "/{name}/activate", Handle: byName(s.activateLLM)},
	)
}

func (s *Service) getLLM(w http.ResponseWriter, r *http.Request, name string) error {
	mode, err := exposure(r)
	if err != nil {
		return err
	}
	load := s.Profiles.LLMs.Stored // an editor sees what is stored
	if mode == schema.Plain {
		load = s.Profiles.LLMs.Load // who calls the model needs the connection
	}
	l, err := load(r.Context(), name)
	if err != nil {
		return err
	}
	doc, err := l.Doc()
	if err != nil {
		return err
	}
	config, err := spec.LLMSchema.Dump(doc, schema.Writing{Mode: mode, Keys: s.keys})
	if err != nil {
		return noKey(err)
	}
	if mode == schema.Masked {
		config.Set("api_key", nil)
	}
	set, err := s.effectiveKey(r.Context(), l)
	if err != nil {
		return err
	}
	return rest.JSON(w, http.StatusOK, schema.Of("name", name, "config", config, "api_key_set", set))
}

// effectiveKey reports whether an LLM has a key, its own or its connection's.
func (s *Service) effectiveKey(ctx context.Context, l *spec.LLM) (bool, error) {
	if l.HasKey() || l.ProviderConnectionID == nil || *l.ProviderConnectionID == "" {
		return l.HasKey(), nil
	}
	c, ok, err := s.Profiles.Connections.Find(ctx)(*l.ProviderConnectionID)
	return ok && c.APIKey != "", err
}

var llmBody = &schema.Object{Fields: []schema.Field{
	{Name: "llm", Type: spec.LLMSchema, Required: true},
	{Name: "include_secrets", Type: schema.Bool{}, Default: true},
}}

// bodyLLM reads a body with an LLM, whose secrets may be sealed by our key.
func (s *Service) bodyLLM(r *http.Request) (l *spec.LLM, secrets bool, err error) {
	m, err := rest.BodyAs(r, llmBody)
	if err != nil {
		return nil, false, err
	}
	doc, err := spec.LLMSchema.Check(m.Get("llm"), schema.Reading{Keys: s.keys}, "body", "llm")
	if err != nil {
		return nil, false, err
	}
	l, err = spec.LLMFrom(doc)
	return l, m.Get("include_secrets") == true, err
}

func (s *Service) saveLLM(r *http.Request, name string) error {
	l, secrets, err := s.bodyLLM(r)
	if err != nil {
		return err
	}
	return s.Profiles.LLMs.Save(r.Context(), name, l, secrets)
}

// follow keeps the pointer to the active LLM profile on the profile it was on;
// to is nil for one that was deleted.
func (s *Service) follow(ctx context.Context, from string, to *string) error {
	doc, err := s.Load()
	if err != nil {
		return err
	}
	if doc.ActiveProfile == nil || profiles.Canonical(*doc.ActiveProfile) != profiles.Canonical(from) {
		return nil
	}
	_, err = s.Change(ctx, func(d *Document) error {
		d.ActiveProfile = to
		return nil
	})
	return err
}

func (s *Service) deleteLLM(ctx context.Context, name string) error {
	if err := s.Profiles.DeleteLLM(ctx, name); err != nil {
		return err
	}
	return s.follow(ctx, name, nil)
}

func (s *Service) renameLLM(ctx context.Context, name, to string) error {
	if err := s.Profiles.RenameLLM(ctx, name, to); err != nil || name == to {
		return err
	}
	clean := profiles.Canonical(to)
	return s.follow(ctx, name, &clean)
}

func (s *Service) activateLLM(w http.ResponseWriter, r *http.Request, name string) error {
	l, err := s.Profiles.LLMs.Load(r.Context(), name)
	if err != nil {
		return err
	}
	model, err := l.Doc()
	if err != nil {
		return err
	}
	applied := false
	_, err = s.Change(r.Context(), func(d *Document) error {
		if applied = !d.ACP(); applied {
			d.Agent = d.Agent.Copy()
			d.Agent.Set("llm", model)
		}
		clean := profiles.Canonical(name)
		d.ActiveProfile = &clean
		return nil
	})
	if err != nil {
		return err
	}
	message := "Profile '" + name + "' activated"
	if applied {
		message += " and applied to current settings"
	}
	return rest.JSON(w, http.StatusOK, struct {
		done
		Applied bool `json:"llm_applied"`
	}{done{name, message}, applied})
}
