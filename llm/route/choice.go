package route

// usualModels are the models that are taken where only the key of a provider is set, in the
// order in which keys are looked for. Each is of the middle of its provider's prices.
var usualModels = []string{
	"anthropic/claude-sonnet-5-5", "openai/gpt-6.1-sol", "gemini/gemini-4-argon", "openrouter/anthropic/claude-sonnet-5-5", "mistral/mistral-large-4",
	"xai/grok-4.7", "deepseek/deepseek-v4-pro", "moonshot/kimi-k3.1-pro", "zai/glm-5.3", "minimax/minimax-m3",
	"groq/openai/gpt-oss-120b", "together_ai/zai-org/GLM-5.3", "fireworks_ai/accounts/fireworks/models/glm-5p3", "openhands/claude-sonnet-5-5",
}

// proxyKey is the variable of several providers: of OpenHands' proxy, and of one's own, to which
// a key is sent only with its address.
const proxyKey = "LITELLM_API_KEY"

// Usual returns a model of the first provider whose key is in the environment, and the variable
// of the key; "" if there is none.
func Usual(env func(string) string) (model, variable string) {
	for _, model := range usualModels {
		for _, variable := range KeyVariables(model) {
			if variable != proxyKey && env(variable) != "" {
				return model, variable
			}
		}
	}
	return "", ""
}
