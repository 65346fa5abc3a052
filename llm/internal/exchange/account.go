package exchange

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/deft-dev/deft/llm"
)

// Azure is the provider's name of Azure OpenAI resources, whose paths and key
// header differ (https://learn.microsoft.com/azure/ai-foundry/openai/reference).
const Azure = "azure"

// Header returns the headers of each request to an endpoint that takes
// OpenAI's protocols: the key, then what the user set.
func (e *Endpoint) Header(cfg llm.Config) http.Header {
	h := http.Header{}
	switch {
	case cfg.APIKey == "":
	case e.Provider == Azure:
		h.Set("Api-Key", cfg.APIKey.Reveal())
	default:
		h.Set("Authorization", "Bearer "+cfg.APIKey.Reveal())
	}
	for name, value := range cfg.Headers {
		h.Set(name, value)
	}
	return h
}

// Path returns the path of an operation of OpenAI's protocols
// ("chat/completions") below the base URL. Those of Azure depend on the
// api-version and on how much of the path the base URL holds already.
func (e *Endpoint) Path(cfg llm.Config, operation string) string {
	if e.Provider != Azure {
		return operation
	}
	version := strings.TrimSpace(cfg.APIVersion)
	path := operation
	switch {
	case strings.HasSuffix(e.BaseURL, "/v1") || strings.Contains(e.BaseURL, "/openai/deployments/"):
	case version == "" || version == "v1" || version == "preview" || version == "latest":
		path = "openai/v1/" + operation
	case operation == "chat/completions":
		path = "openai/deployments/" + url.PathEscape(e.wireModel) + "/" + operation
	default:
		path = "openai/" + operation
	}
	if dated := version != "preview" && version != "latest"; version != "" && version != "v1" && (!dated || !strings.HasSuffix(e.BaseURL, "/v1")) {
		path += "?api-version=" + url.QueryEscape(version)
	}
	return path
}

// BilledCost returns what a LiteLLM proxy says that it billed, in US dollars.
func BilledCost(h http.Header) (dollars float64, ok bool) {
	for _, name := range []string{"Llm_provider-X-Litellm-Response-Cost", "X-Litellm-Response-Cost"} {
		if cost, err := strconv.ParseFloat(strings.TrimSpace(h.Get(name)), 64); err == nil && cost >= 0 && cost < 1e6 {
			return cost, true
		}
	}
	return 0, false
}

// Priced sets the cost of an answer whose usage is known.
func Priced(out *llm.Response, price llm.Price, known bool) *llm.Response {
	if known {
		out.Cost, out.CostKnown = price.Cost(out.Usage)
	}
	return out
}
