package exchange

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/deft-dev/deft/llm"
)

// Azure is the provider name of Azure OpenAI, whose paths and key header differ
// (https://learn.microsoft.com/azure/ai-foundry/openai/reference).
const Azure = "azure"

// Header returns the headers of each request to an endpoint with OpenAI's
// protocols: the key and the user's headers.
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
// ("chat/completions") below the base URL. Azure's paths depend on the
// api-version and on how much of the path the base URL already contains.
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
