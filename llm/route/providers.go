package route

import (
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/llm/gemini"
)

// provider describes a service.
type provider struct {
	name     string
	prefixes []string          // of models' names; nil for the name alone
	url      string            // "" if the user must set it
	keys     []string          // environment variables of the key
	usual    string            // the model that is taken where only the key is set; "" if the user must name one
	messages bool              // Anthropic Messages; otherwise Chat Completions
	headers  map[string]string // sent unless the user sets them
	bases    []string          // environment variables of the base URL
	version  []string          // environment variables of the api-version
	// tokens are environment variables that the adapter itself reads in the place of keys, and places those of
	// the place that it needs with them.
	tokens, places []string
	// make makes a model of another protocol, with its own default address.
	make func(llm.Config) (llm.Model, error)
}

// proxy serves openhands/ models: a LiteLLM proxy.
const proxy = "https://llm-proxy.app.all-hands.dev/v1"

// providers are all of them, in the order in which their keys are looked for. The usual model of each is of the
// middle of its prices.
var providers = []provider{
	{name: "anthropic", url: "https://api.anthropic.com", keys: []string{"ANTHROPIC_API_KEY"}, usual: "claude-sonnet-5-5", messages: true},
	{name: "openai", url: "https://api.openai.com/v1", keys: []string{"OPENAI_API_KEY"}, usual: "gpt-6.1-sol"},
	{
		name: "gemini", prefixes: []string{"gemini", "google"}, url: gemini.DefaultURL, keys: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"},
		usual: "gemini-4-argon", make: newGemini,
	},
	{
		name: "openrouter", url: "https://openrouter.ai/api/v1", keys: []string{"OPENROUTER_API_KEY"},
		usual: "anthropic/claude-sonnet-5-5", headers: map[string]string{"X-Title": "Deft"},
	},
	{name: "mistral", url: "https://api.mistral.ai/v1", keys: []string{"MISTRAL_API_KEY"}, usual: "mistral-large-4"},
	{name: "xai", url: "https://api.x.ai/v1", keys: []string{"XAI_API_KEY"}, usual: "grok-4.7"},
	{name: "deepseek", url: "https://api.deepseek.com/v1", keys: []string{"DEEPSEEK_API_KEY"}, usual: "deepseek-v4-pro"},
	{name: "moonshot", url: "https://api.moonshot.ai/v1", keys: []string{"MOONSHOT_API_KEY"}, usual: "kimi-k3.1-pro"},
	{name: "zai", url: "https://api.z.ai/api/paas/v4", keys: []string{"ZAI_API_KEY"}, usual: "glm-5.3"},
	{name: "minimax", url: "https://api.minimax.io/v1", keys: []string{"MINIMAX_API_KEY"}, usual: "minimax-m3"},
	{
		name: "dashscope", url: "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", keys: []string{"DASHSCOPE_API_KEY"},
		usual: "qwen3.8-max", bases: []string{"DASHSCOPE_API_BASE"},
	},
	{name: "groq", url: "https://api.groq.com/openai/v1", keys: []string{"GROQ_API_KEY"}, usual: "openai/gpt-oss-120b"},
	{name: "cerebras", url: "https://api.cerebras.ai/v1", keys: []string{"CEREBRAS_API_KEY"}, usual: "gpt-oss-120b"},
	{name: "sambanova", url: "https://api.sambanova.ai/v1", keys: []string{"SAMBANOVA_API_KEY"}, usual: "gpt-oss-120b"},
	{name: "together_ai", url: "https://api.together.xyz/v1", keys: []string{"TOGETHERAI_API_KEY", "TOGETHER_API_KEY"}, usual: "zai-org/GLM-5.3"},
	{
		name: "fireworks_ai", url: "https://api.fireworks.ai/inference/v1", keys: []string{"FIREWORKS_AI_API_KEY", "FIREWORKS_API_KEY"},
		usual: "accounts/fireworks/models/glm-5p3",
	},
	{name: "deepinfra", url: "https://api.deepinfra.com/v1/openai", keys: []string{"DEEPINFRA_API_KEY"}, usual: "openai/gpt-oss-120b"},
	{name: "nvidia_nim", url: "https://integrate.api.nvidia.com/v1", keys: []string{"NVIDIA_NIM_API_KEY", "NVIDIA_API_KEY"}, usual: "openai/gpt-oss-120b"},
	{name: "openhands", url: proxy, keys: []string{"OPENHANDS_API_KEY", proxyKey}, usual: "claude-sonnet-5-5"},
	{
		name: "bedrock", tokens: []string{"AWS_BEARER_TOKEN_BEDROCK"}, places: []string{"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_REGION_NAME"},
		usual: "global.anthropic.claude-sonnet-5-5", make: newBedrock,
	},
	{
		name: "azure", keys: []string{"AZURE_API_KEY", "AZURE_OPENAI_API_KEY"},
		bases: []string{"AZURE_API_BASE", "AZURE_OPENAI_ENDPOINT"}, version: []string{"AZURE_API_VERSION", "OPENAI_API_VERSION"},
	},
	{name: "litellm_proxy", keys: []string{"LITELLM_PROXY_API_KEY", proxyKey}, bases: []string{"LITELLM_PROXY_API_BASE"}},
	{
		name: "vllm", prefixes: []string{"hosted_vllm"}, url: "http://localhost:8000/v1", keys: []string{"HOSTED_VLLM_API_KEY"},
		bases: []string{"HOSTED_VLLM_API_BASE"},
	},
	{name: "vllm", url: "http://localhost:8000/v1"},
	{name: "lm_studio", url: "http://localhost:1234/v1", bases: []string{"LM_STUDIO_API_BASE"}},
	{name: "llama_cpp", url: "http://localhost:8080/v1"},
	{name: "ollama", prefixes: []string{"ollama", "ollama_chat"}, url: "http://localhost:11434", make: newOllama, bases: []string{"OLLAMA_API_BASE"}},
	{name: "vertex_ai", make: newVertex},
}

// byPrefix has the providers by the prefixes of their models.
var byPrefix = func() map[string]provider {
	all := map[string]provider{}
	for _, p := range providers {
		for _, prefix := range p.named() {
			all[prefix] = p
		}
	}
	return all
}()

// named are the prefixes of the provider's models, the usual one first.
func (p provider) named() []string {
	if p.prefixes == nil {
		return []string{p.name}
	}
	return p.prefixes
}

// unsupportedPrefixes are providers with protocols of their own.
var unsupportedPrefixes = []string{"sagemaker"}
