package route

import (
	"context"
	"strings"

	"github.com/deft-dev/deft/llm"
)

// lacksKey reports whether p would refuse every call: it asks for a key at its own
// address, and cfg has none. A server at another address, or on this machine, may
// need none; a client of the caller's may bring its own.
func (p provider) lacksKey(cfg llm.Config) bool {
	if cfg.APIKey != "" || cfg.BaseURL != "" || cfg.HTTPClient != nil || len(p.keys) == 0 || !strings.HasPrefix(p.url, "https://") {
		return false
	}
	for name := range cfg.Headers {
		switch strings.ToLower(name) {
		case "authorization", "api-key", "x-api-key", "x-goog-api-key":
			return false
		}
	}
	return true
}

// keyless is a model without the key that its provider asks for. It can be described;
// a call fails without a request.
type keyless struct{ llm.Model }

const apiKey = "an API key"

// Info implements [llm.Model].
func (m keyless) Info() llm.Info {
	info := m.Model.Info()
	info.Missing = apiKey
	return info
}

// Generate implements [llm.Model].
func (m keyless) Generate(context.Context, llm.Request, func(llm.Delta)) (*llm.Response, error) {
	return nil, llm.NotSetUp(m.Model.Info().Name + " needs " + apiKey)
}
