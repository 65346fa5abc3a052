package route

import "github.com/deft-dev/deft/llm"

// provider describes the service for a prefix.
type provider struct {
	name     string
	url      string            // "" if the user must set it
	keys     []string          // environment variables of the key
	messages bool              // Anthropic Messages; otherwise Chat Completions
	headers  map[string]string // sent unless the user sets them
	bases    []string          // environment variables of the base URL
	version  []string          // environment variables of the api-version
	// make makes a model of another protocol, with its own default address.
	make func(llm.Config) (llm.Model, error)
}

// proxy serves openhands/ models: a LiteLLM proxy.
const proxy = "https://llm-proxy.app.all-hands.dev/v1"

// byPrefix is the table of providers.
var byPrefix = map[string]provider{
	"openai":        {name: "openai", url: "https://api.openai.com/v1", keys: []string{"OPENAI_API_KEY"}},
	"anthropic":     {name: "anthropic", url: "https://api.anthropic.com", keys: []string{"ANTHROPIC_API_KEY"}, messages: true},
	"openhands":     {name: "openhands", url: proxy, keys: []string{"OPENHANDS_API_KEY", "LITELLM_API_KEY"}},
	"litellm_proxy": {name: "litellm_proxy", keys: []string{"LITELLM_PROXY_API_KEY", "LITELLM_API_KEY"}, bases: []string{"LITELLM_PROXY_API_BASE"}},
	"azure": {
		name: "azure", keys: []string{"AZURE_API_KEY", "AZURE_OPENAI_API_KEY"},
		bases: []string{"AZURE_API_BASE", "AZURE_OPENAI_ENDPOINT"}, version: []string{"AZURE_API_VERSION", "OPENAI_API_VERSION"},
	},
	"openrouter": {
		name: "openrouter", url: "https://openrouter.ai/api/v1", keys: []string{"OPENROUTER_API_KEY"},
		headers: map[string]string{"X-Title": "Deft"},
	},
	"deepseek":     {name: "deepseek", url: "https://api.deepseek.com/v1", keys: []string{"DEEPSEEK_API_KEY"}},
	"mistral":      {name: "mistral", url: "https://api.mistral.ai/v1", keys: []string{"MISTRAL_API_KEY"}},
	"groq":         {name: "groq", url: "https://api.groq.com/openai/v1", keys: []string{"GROQ_API_KEY"}},
	"xai":          {name: "xai", url: "https://api.x.ai/v1", keys: []string{"XAI_API_KEY"}},
	"moonshot":     {name: "moonshot", url: "https://api.moonshot.ai/v1", keys: []string{"MOONSHOT_API_KEY"}},
	"zai":          {name: "zai", url: "https://api.z.ai/api/paas/v4", keys: []string{"ZAI_API_KEY"}},
	"minimax":      {name: "minimax", url: "https://api.minimax.io/v1", keys: []string{"MINIMAX_API_KEY"}},
	"together_ai":  {name: "together_ai", url: "https://api.together.xyz/v1", keys: []string{"TOGETHERAI_API_KEY", "TOGETHER_API_KEY"}},
	"fireworks_ai": {name: "fireworks_ai", url: "https://api.fireworks.ai/inference/v1", keys: []string{"FIREWORKS_AI_API_KEY", "FIREWORKS_API_KEY"}},
	"lm_studio":    {name: "lm_studio", url: "http://localhost:1234/v1", bases: []string{"LM_STUDIO_API_BASE"}},
	"vllm":         {name: "vllm", url: "http://localhost:8000/v1"},
	"hosted_vllm":  {name: "vllm", url: "http://localhost:8000/v1", keys: []string{"HOSTED_VLLM_API_KEY"}, bases: []string{"HOSTED_VLLM_API_BASE"}},
	"llama_cpp":    {name: "llama_cpp", url: "http://localhost:8080/v1"},
	"ollama":       {name: "ollama", url: "http://localhost:11434", make: newOllama, bases: []string{"OLLAMA_API_BASE"}},
	"ollama_chat":  {name: "ollama", url: "http://localhost:11434", make: newOllama, bases: []string{"OLLAMA_API_BASE"}},
	"gemini":       googleAI,
	"google":       googleAI,
	"vertex_ai":    {name: "vertex_ai", make: newVertex},
	"bedrock":      {name: "bedrock", make: newBedrock},
}

// unsupportedPrefixes are providers with protocols of their own.
var unsupportedPrefixes = []string{"sagemaker"}
