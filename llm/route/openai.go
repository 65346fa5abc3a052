package route

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/ollama"
	"github.com/deft-dev/deft/llm/openai"
	"github.com/deft-dev/deft/llm/responses"
)

// newOpenAI makes a model with one of OpenAI's protocols. By default it uses
// Responses only for the models that prefer it at OpenAI itself: other servers
// implement it differently.
func newOpenAI(cfg llm.Config) (llm.Model, error) {
	switch api(cfg) {
	case llm.APIAuto:
		if cfg.Provider == "openai" && isOpenAI(cfg.BaseURL) && responses.Preferred(cfg.WireModel) {
			return made(responses.New(cfg))
		}
		return made(openai.New(cfg))
	case llm.APIChat:
		return made(openai.New(cfg))
	case llm.APIResponses:
		return made(responses.New(cfg))
	}
	return nil, fault.New(fault.Invalid, fmt.Sprintf("unknown API %q for model %s", cfg.API, cfg.Model)).
		Hint("use " + llm.APIAuto + ", " + llm.APIChat + " or " + llm.APIResponses)
}

// newOllama makes a model with Ollama's own protocol, unless one of OpenAI's is
// set, which Ollama serves below /v1.
func newOllama(cfg llm.Config) (llm.Model, error) {
	if api(cfg) == llm.APIAuto {
		return made(ollama.New(cfg))
	}
	if cfg.BaseURL == ollama.DefaultURL {
		cfg.BaseURL += "/v1"
	}
	return newOpenAI(cfg)
}

func api(cfg llm.Config) string {
	return cmp.Or(strings.ToLower(strings.TrimSpace(cfg.API)), llm.APIAuto)
}

// isOpenAI reports whether an address is OpenAI's own, in any region.
func isOpenAI(base string) bool { return under(base, "api.openai.com") }

// isAzure reports whether an address belongs to an Azure resource.
func isAzure(base string) bool {
	return under(base, "openai.azure.com") || under(base, "cognitiveservices.azure.com") || under(base, "services.ai.azure.com")
}

func under(base, domain string) bool {
	u, err := url.Parse(base)
	if err != nil {
		return false
	}
	host := strings.ToLower(u.Hostname())
	return host == domain || strings.HasSuffix(host, "."+domain)
}

// BaseVariables returns the environment variables that may hold the base URL
// for a model, in order.
func BaseVariables(model string) []string { return of(model).bases }

// VersionVariables returns the environment variables that may hold the
// api-version for a model, in order.
func VersionVariables(model string) []string { return of(model).version }

// of returns the provider of a model, the zero value if unknown.
func of(model string) provider {
	p, _, err := Router{}.find(llm.Config{Model: model})
	if err != nil {
		return provider{}
	}
	p.bases, p.version = slices.Clone(p.bases), slices.Clone(p.version)
	return p
}
