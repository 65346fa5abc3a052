package settings

import (
	"cmp"
	"context"
	"fmt"
	"net/http"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/settings"
	"github.com/deft-dev/deft/settings/agentsettings"
	"github.com/deft-dev/deft/spec"
)

// llms are the operations on LLM profiles.
func llms() []operation {
	return operations(named{
		what: "Profile", listKey: "profiles",
		list:   func(s server, ctx context.Context) (any, error) { return s.Profiles.LLMs.List(ctx) },
		active: func(doc *settings.Document) (string, *string) { return "active_profile", doc.ActiveProfile },
		get:    server.getLLM, save: server.saveLLM, remove: server.DeleteLLM, rename: server.RenameLLM,
	},
		operation{"POST", "/{name}/validate", byName(server.validateLLM), 0},
		operation{"POST", "/{name}/activate", byName(func(s server, r *http.Request, name string) (any, error) {
			applied, err := s.ActivateLLM(r.Context(), name)
			out := done(name, "Profile '"+name+"' activated")
			if out["llm_applied"] = applied; applied {
				out["message"] = fmt.Sprint(out["message"], " and applied to current settings")
			}
			return out, err
		}), 0},
	)
}

func (s server) getLLM(r *http.Request, name string) (any, error) {
	mode, err := exposure(r)
	if err != nil {
		return nil, err
	}
	load := s.Profiles.LLMs.Stored // an editor sees the stored values
	switch mode {
	case schema.Plain:
		load = s.Profiles.LLMs.Load // a caller of the model needs the connection
	case schema.Sealed:
		load = s.Profiles.LLMs.Opened // a client sends back what it gets
	}
	l, err := load(r.Context(), name)
	if err != nil {
		return nil, err
	}
	doc, err := l.Doc()
	if err != nil {
		return nil, err
	}
	config, err := spec.LLMSchema.Dump(doc, schema.Writing{Mode: mode, Keys: s.Keys()})
	if err != nil {
		return nil, err
	}
	if mode == schema.Masked {
		config.Set("api_key", nil)
	}
	set, err := s.HasKey(r.Context(), l)
	return schema.Of("name", name, "config", config, "api_key_set", set), err
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

// errorTypes name the kinds of failures as the reference does.
var errorTypes = map[fault.Kind]string{
	fault.Auth:        "LLMAuthenticationError",
	fault.RateLimit:   "LLMRateLimitError",
	fault.Quota:       "LLMRateLimitError",
	fault.Timeout:     "LLMTimeoutError",
	fault.Unavailable: "LLMServiceUnavailableError",
	fault.Context:     "LLMContextWindowExceedError",
	fault.Content:     "LLMContentPolicyViolationError",
	fault.Invalid:     "LLMBadRequestError",
	fault.NotFound:    "NotFoundError",
	fault.Unsupported: "LLMBadRequestError",
}

// validateLLM answers whether the LLM in the body works.
func (s server) validateLLM(r *http.Request, _ string) (any, error) {
	l, _, err := s.bodyLLM(r)
	if err != nil {
		return nil, err
	}
	if err := l.Resolve(s.Profiles.Connections.Find(r.Context()), ""); err != nil {
		return nil, err
	}
	fails := func(typ, message string) (any, error) {
		return map[string]any{"valid": false, "error": map[string]string{"type": typ, "message": message}}, nil
	}
	if l.AuthType == "subscription" {
		return fails("ValueError", `No stored credentials for a subscription of "openai"`)
	}
	if err := s.Check(r.Context(), l); err != nil {
		return fails(cmp.Or(errorTypes[fault.KindOf(err)], "LLMError"), err.Error())
	}
	return map[string]any{"valid": true, "error": nil}, nil
}

// metas are the operations on meta-profiles.
func metas() []operation {
	return operations(named{
		what: "Meta-profile", listKey: "meta_profiles",
		list:   func(s server, ctx context.Context) (any, error) { return s.Profiles.Metas.List(ctx) },
		active: func(doc *settings.Document) (string, *string) { return "active_meta_profile", doc.ActiveMetaProfile },
		get: func(s server, r *http.Request, name string) (any, error) {
			m, err := s.Profiles.Metas.Load(r.Context(), name)
			return schema.Of("name", name, "config", m), err
		},
		save: func(s server, r *http.Request, name string) error {
			m, err := rest.BodyAs(r, routable)
			if err != nil {
				return err
			}
			return s.Profiles.Metas.Save(r.Context(), name, m)
		},
		remove: server.DeleteMeta,
	},
		operation{"POST", "/{name}/activate", byName(func(s server, r *http.Request, name string) (any, error) {
			applied, err := s.ActivateMeta(r.Context(), name)
			out := done(name, "Meta-profile '"+name+"' activated")
			if out["applied"] = applied; !applied {
				out["message"] = "Meta-profile '" + name + "' not activated: the current agent settings cannot route between models"
			}
			return out, err
		}), 0},
	)
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
