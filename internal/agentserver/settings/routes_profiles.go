package settings

import (
	"net/http"

	"github.com/deft-dev/deft/internal/agentserver/rest"
	"github.com/deft-dev/deft/internal/settings"
	"github.com/deft-dev/deft/internal/settings/profiles"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/spec"
)

// llmRoutes are the operations on LLM profiles.
func (s server) llmRoutes() []rest.Route {
	return namedStore{
		what: "Profile",
		list: listing(s, s.Profiles.LLMs.List, func(list []profiles.Summary, doc *settings.Document) any {
			return struct {
				Profiles []profiles.Summary `json:"profiles"`
				Active   *string            `json:"active_profile"`
			}{list, doc.ActiveProfile}
		}),
		get: s.getLLM, save: s.saveLLM, remove: s.DeleteLLM, rename: s.RenameLLM,
	}.routes(
		rest.Route{Method: "POST", Path: "/{name}/validate", Handle: byName(s.validateLLM)},
		rest.Route{Method: "POST", Path: "/{name}/activate", Handle: byName(s.activateLLM)},
	)
}

func (s server) getLLM(w http.ResponseWriter, r *http.Request, name string) error {
	mode, err := exposure(r)
	if err != nil {
		return err
	}
	load := s.Profiles.LLMs.Stored // an editor sees what is stored
	if mode == schema.Plain {
		load = s.Profiles.LLMs.Load // a caller of the model needs the connection
	}
	l, err := load(r.Context(), name)
	if err != nil {
		return err
	}
	doc, err := l.Doc()
	if err != nil {
		return err
	}
	config, err := spec.LLMSchema.Dump(doc, schema.Writing{Mode: mode, Keys: s.Keys()})
	if err != nil {
		return noKey(err)
	}
	if mode == schema.Masked {
		config.Set("api_key", nil)
	}
	set, err := s.HasKey(r.Context(), l)
	if err != nil {
		return err
	}
	return rest.JSON(w, http.StatusOK, schema.Of("name", name, "config", config, "api_key_set", set))
}

var llmBody = spec.Reference("SaveProfileRequest", schema.Object{})

// bodyLLM reads a body with an LLM, whose secrets may be sealed by our key.
func (s server) bodyLLM(r *http.Request) (l *spec.LLM, secrets bool, err error) {
	m, err := rest.BodyAs(r, llmBody)
	if err != nil {
		return nil, false, err
	}
	doc, err := spec.LLMSchema.Check(m.Get("llm"), schema.Reading{Keys: s.Keys()}, "body", "llm")
	if err != nil {
		return nil, false, err
	}
	l, err = spec.LLMFrom(doc)
	return l, m.Get("include_secrets") == true, err
}

func (s server) saveLLM(r *http.Request, name string) error {
	l, secrets, err := s.bodyLLM(r)
	if err != nil {
		return err
	}
	return s.Profiles.LLMs.Save(r.Context(), name, l, secrets)
}

func (s server) activateLLM(w http.ResponseWriter, r *http.Request, name string) error {
	applied, err := s.ActivateLLM(r.Context(), name)
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
