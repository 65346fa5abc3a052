// Package route selects the adapter for a model's name. It links every adapter,
// so only programs import it.
//
// # Usage
//
//	m, err := route.New(llm.Config{Model: "deepseek/deepseek-chat", APIKey: key})
//	names := route.KeyVariables("deepseek/deepseek-chat") // DEEPSEEK_API_KEY
//
// The prefix of a name selects the provider. A name without a known prefix is
// looked up in the catalogue; with a base URL, any name is sent to that server
// as an OpenAI-compatible one.
//
// # Concurrency
//
// All functions are safe for concurrent use.
//
// # Failure
//
// Unknown names are errors of kind Invalid that suggest similar ones; providers
// without an adapter are Unsupported. No request is made. A model without the key
// that its provider asks for can be described; its calls are refused
// ([llm.ErrNotSetUp]).
package route

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/anthropic"
	"github.com/deft-dev/deft/llm/catalog"
	"github.com/deft-dev/deft/llm/images"
	"github.com/deft-dev/deft/llm/internal/exchange"
	"github.com/deft-dev/deft/llm/texttools"
)

// Router makes models. The zero value uses the embedded catalogue.
type Router struct {
	// Catalog replaces the embedded catalogue; nil for the embedded one.
	Catalog *catalog.Catalog
}

// New returns the model named by cfg, with the embedded catalogue.
func New(cfg llm.Config) (llm.Model, error) { return Router{}.New(cfg) }

// New returns the model named by cfg. Images are shrunk to the provider's
// limits. Tools are described in text if the model does not support them, or
// cfg says so.
func (r Router) New(cfg llm.Config) (llm.Model, error) {
	m, err := r.adapter(cfg)
	if err != nil {
		return nil, err
	}
	if p, _, err := r.find(cfg); err == nil && p.lacksKey(cfg) {
		m = keyless{m}
	}
	if cfg.ToolsInText || !m.Info().Tools {
		m = texttools.New(m)
	}
	return images.New(m), nil
}

// adapter makes the model with the adapter of its provider.
func (r Router) adapter(cfg llm.Config) (llm.Model, error) {
	p, wire, err := r.find(cfg)
	if err != nil {
		return nil, err
	}
	cfg.Provider = p.name
	cfg.WireModel = cmp.Or(cfg.WireModel, wire)
	if cfg.BaseURL == "" {
		if p.url == "" && p.make == nil {
			return nil, fault.New(fault.Invalid, fmt.Sprintf("model %s needs a base URL", cfg.Model)).Hint("set --base-url or LLM_BASE_URL")
		}
		cfg.BaseURL = p.url
	}
	cfg.Headers = withDefaults(cfg.Headers, p.headers)
	// The user's catalogue is passed as overrides: adapters only have the
	// embedded one.
	if r.overridden(p, wire) {
		info, quirks := r.Catalog.Describe(cfg, p.name)
		cfg.Info = info
		if cfg.Quirks == nil {
			cfg.Quirks = &quirks
		}
	}
	if p.make != nil {
		return p.make(cfg)
	}
	if p.messages {
		return made(anthropic.New(cfg))
	}
	return newOpenAI(cfg)
}

// made makes an interface of a constructor's result.
func made[M llm.Model](m M, err error) (llm.Model, error) {
	if err != nil {
		return nil, err
	}
	return m, nil
}

func (r Router) catalog() *catalog.Catalog {
	if r.Catalog != nil {
		return r.Catalog
	}
	return catalog.Default()
}

// find returns the provider of a model, and its name there.
func (r Router) find(cfg llm.Config) (provider, string, error) {
	if strings.TrimSpace(cfg.Model) == "" {
		return provider{}, "", exchange.NoModel()
	}
	prefix, rest, ok := strings.Cut(cfg.Model, "/")
	if ok && rest == "" {
		return provider{}, "", fault.New(fault.Invalid, fmt.Sprintf("model %q has no name after its prefix", cfg.Model))
	}
	if ok {
		if p, known := byPrefix[strings.ToLower(prefix)]; known {
			return p, rest, nil
		}
	}
	if cfg.BaseURL != "" {
		return r.compatible(cfg)
	}
	if ok && slices.Contains(unsupportedPrefixes, strings.ToLower(prefix)) {
		return provider{}, "", fault.New(fault.Unsupported, fmt.Sprintf("this build has no adapter for %s/ models", prefix)).
			Hint("supported prefixes: " + strings.Join(Prefixes(), " "))
	}
	if !ok {
		if e, known := r.catalog().Lookup(cfg.Model); known {
			if p, served := byPrefix[e.Provider]; served && p.url != "" {
				return p, cfg.Model, nil
			}
			return provider{}, "", fault.New(fault.Unsupported, fmt.Sprintf("model %s is known, but not its provider", cfg.Model)).
				Hint("write it with a prefix (" + strings.Join(Prefixes(), " ") + ") or set --base-url")
		}
	}
	return provider{}, "", r.unknown(cfg.Model)
}

// compatible returns the provider for a name without a known prefix on a server
// set by the user. Anthropic, OpenAI and Azure are recognized by their host.
func (r Router) compatible(cfg llm.Config) (provider, string, error) {
	if strings.Contains(cfg.BaseURL, "://api.anthropic.com") {
		return byPrefix["anthropic"], cfg.Model, nil
	}
	switch {
	case isOpenAI(cfg.BaseURL):
		return byPrefix["openai"], cfg.Model, nil
	case isAzure(cfg.BaseURL):
		return byPrefix["azure"], cfg.Model, nil
	}
	return provider{name: "openai_compatible"}, cfg.Model, nil
}

func (r Router) unknown(model string) error {
	err := fault.New(fault.Invalid, fmt.Sprintf("model %q is not known", model))
	hint := "write it with a prefix (" + strings.Join(Prefixes(), " ") + ") or set --base-url"
	if near := r.catalog().Near(model); len(near) > 0 {
		hint = "similar names: " + strings.Join(near, ", ") + "; or " + hint
	}
	return err.Hint(hint)
}

// KeyVariables returns the environment variables that may hold the key for a
// model, in order. It is empty for local servers and unknown providers.
func KeyVariables(model string) []string {
	p, _, err := Router{}.find(llm.Config{Model: model})
	if err != nil {
		return nil
	}
	return slices.Clone(p.keys)
}

// Prefixes returns the prefixes of model names, each with its slash, sorted.
func Prefixes() []string {
	out := make([]string, 0, len(byPrefix))
	for name := range byPrefix {
		out = append(out, name+"/")
	}
	slices.Sort(out)
	return out
}

func withDefaults(given, defaults map[string]string) map[string]string {
	if len(defaults) == 0 {
		return given
	}
	out := map[string]string{}
	maps.Copy(out, defaults)
	maps.Copy(out, given)
	return out
}
