package spec

import (
	"errors"
	"strings"

	"github.com/deft-dev/deft/llm/catalog"
	s "github.com/deft-dev/deft/schema"
)

// DefaultModel is called where nobody names a model.
const DefaultModel = "gpt-5.6"

// azureVersion is the api-version of Azure models without one.
const azureVersion = "2024-12-01-preview"

var (
	zero, one = 0.0, 1.0
	atLeast0  = s.Bounds{GE: &zero}
	atLeast1  = s.Bounds{GE: &one}
	text      = s.Opt(s.String{})
	truth     = s.Opt(s.Bool{})
)

// Schema describes the LLM object: its fields in the reference's order, with
// their defaults, and how the LLM page shows them.
var LLMSchema = &s.Object{
	Name:   "LLM",
	Before: prepare,
	Fields: append(append(endpointFields(), callFields()...), modelFields()...),
}

// Extended is Schema for documents whose unknown fields are kept.
var ExtendedLLM = &s.Object{Name: LLMSchema.Name, Before: LLMSchema.Before, Fields: LLMSchema.Fields, Extra: s.Keep}

func page(description string) *s.Page { return &s.Page{Description: description} }

func endpointFields() []s.Field {
	return []s.Field{
		{Name: "model", Type: s.String{}, Default: DefaultModel, Page: &s.Page{Prominence: "critical", Description: "Name of the model, with the prefix of its provider."}},
		{Name: "api_key", Type: s.Opt(s.Secret{}), Page: &s.Page{Prominence: "critical", Description: "Key that the provider gave you."}},
		{Name: "provider_connection_id", Type: text, Page: &s.Page{Prominence: "major", Description: "Shared connection to take the key and the base URL from, each time this LLM is used. An LLM with a connection has no key of its own."}},
		{Name: "auth_type", Type: s.Enum{"api_key", "subscription"}, Default: "api_key", Page: &s.Page{Label: "Authentication", Prominence: "critical", Description: "How to authenticate: with a key, or with a subscription."}},
		{Name: "subscription_vendor", Type: s.Opt(s.Enum{"openai"}), Page: &s.Page{Label: "Subscription provider", Prominence: "critical", DependsOn: []string{"auth_type"}, Description: "Whose subscription it is."}},
		{Name: "base_url", Type: text, Page: &s.Page{Prominence: "major", Description: "Address of the server, where it is not the provider's own."}},
		{Name: "api_version", Type: text, Page: page("Version of the API, which Azure wants.")},
		{Name: "aws_access_key_id", Type: s.Opt(s.Secret{}), Page: page("")},
		{Name: "aws_secret_access_key", Type: s.Opt(s.Secret{}), Page: page("")},
		{Name: "aws_session_token", Type: s.Opt(s.Secret{}), Page: page("")},
		{Name: "aws_region_name", Type: text, Page: page("")},
		{Name: "aws_profile_name", Type: text, Page: page("")},
		{Name: "aws_role_name", Type: text, Page: page("")},
		{Name: "aws_session_name", Type: text, Page: page("")},
		{Name: "aws_bedrock_runtime_endpoint", Type: text, Page: page("")},
		{Name: "openrouter_site_url", Type: s.String{}, Default: "https://docs.all-hands.dev/", Page: page("")},
		{Name: "openrouter_app_name", Type: s.String{}, Default: "OpenHands", Page: page("")},
	}
}

func callFields() []s.Field {
	return []s.Field{
		{Name: "num_retries", Type: s.Int{Bounds: atLeast0}, Default: n("5"), Page: page("")},
		{Name: "retry_multiplier", Type: s.Number{Bounds: atLeast0}, Default: n("8.0"), Page: page("")},
		{Name: "retry_min_wait", Type: s.Int{Bounds: atLeast0}, Default: n("8"), Page: page("")},
		{Name: "retry_max_wait", Type: s.Int{Bounds: atLeast0}, Default: n("64"), Page: page("")},
		{Name: "timeout", Type: s.Opt(s.Int{Bounds: atLeast0}), Default: n("300"), Page: page("How long one attempt may take, in seconds. Empty for no limit.")},
		{Name: "stream_idle_timeout", Type: s.Opt(s.Number{Bounds: atLeast0}), Default: n("300.0"), Page: page("How long a streamed answer may pause between two pieces, in seconds. Empty for no limit.")},
		{Name: "max_message_chars", Type: s.Int{Bounds: atLeast1}, Default: n("30000"), Page: page("About how many characters of one event are sent to the model.")},
		{Name: "temperature", Type: s.Opt(s.Number{Bounds: atLeast0}), Page: page("How freely the model picks its words: 0 for the likeliest ones, more for variety. Empty leaves it to the provider.")},
		{Name: "top_p", Type: s.Opt(s.Number{Bounds: s.Bounds{GE: &zero, LE: &one}}), Page: page("Share of the likeliest words to pick from, between 0 and 1. Empty leaves it to the provider.")},
		{Name: "top_k", Type: s.Opt(s.Number{Bounds: atLeast0}), Page: page("")},
		{Name: "max_input_tokens", Type: s.Opt(s.Int{Bounds: atLeast1}), Page: page("Size of the model's context window in tokens, where it is not known.")},
		{Name: "max_output_tokens", Type: s.Opt(s.Int{Bounds: atLeast1}), Page: page("How many tokens one answer may have.")},
		{Name: "model_canonical_name", Type: text, Page: page("The model's usual name, where a proxy calls it by another. What the model can do is looked up under this name.")},
		{Name: "api_mode", Type: s.Enum{"auto", "chat", "responses"}, Default: "auto", Page: page("Which of OpenAI's two protocols to speak. With auto, the model's name decides.")},
		{Name: "capability_overrides", Type: s.Dict{Of: s.Either{s.Bool{}, s.String{}}}, Default: emptyMap, Page: page("What the model can do, where it is not known or not right, such as supports_vision or supports_reasoning_effort.")},
		{Name: "extra_headers", Type: s.Opt(s.Dict{Of: s.String{}}), Page: page("HTTP headers to add to each request.")},
		{Name: "input_cost_per_token", Type: s.Opt(s.Number{Bounds: atLeast0}), Page: page("Your price of one input token, in US dollars.")},
		{Name: "output_cost_per_token", Type: s.Opt(s.Number{Bounds: atLeast0}), Page: page("Your price of one output token, in US dollars.")},
		{Name: "ollama_base_url", Type: text, Page: page("")},
	}
}

func modelFields() []s.Field {
	return []s.Field{
		{Name: "stream", Type: s.Bool{}, Default: false, Page: page("Show answers while they are written.")},
		{Name: "drop_params", Type: s.Bool{}, Default: true, Page: page("")},
		{Name: "disable_vision", Type: truth, Page: page("Send no images, even if the model sees them; that is cheaper.")},
		{Name: "disable_stop_word", Type: truth, Default: false, Page: page("Do not use stop words.")},
		{Name: "caching_prompt", Type: s.Bool{}, Default: true, Page: page("Let the provider keep prompts in its cache.")},
		{Name: "log_completions", Type: s.Bool{}, Default: false, Page: page("Write each exchange with the model to a file.")},
		{Name: "log_completions_folder", Type: s.String{}, Default: "logs/completions", Page: page("Folder of those files.")},
		{Name: "custom_tokenizer", Type: text, Page: page("Tokenizer to count tokens with.")},
		{Name: "native_tool_calling", Type: s.Bool{}, Default: true, Page: page("Use the model's own tool calls; otherwise tools are described in the prompt.")},
		{Name: "force_string_serializer", Type: truth, Page: page("Send messages as one text instead of parts. Empty lets the model's name decide.")},
		{Name: "inline_image_urls", Type: truth, Page: page("Fetch images and send their data instead of their addresses. Empty lets the model's name decide.")},
		{Name: "reasoning_effort", Type: text, Default: "high", Page: page("How much the model thinks before it answers: none, minimal, low, medium, high, xhigh or max.")},
		{Name: "reasoning_summary", Type: s.Opt(s.Enum{"auto", "concise", "detailed"}), Page: page("How detailed summaries of the model's reasoning are. OpenAI gives them to verified organizations only.")},
		{Name: "enable_encrypted_reasoning", Type: s.Bool{}, Default: true, Page: page("Ask for encrypted reasoning, so that it can be sent back in the next call.")},
		{Name: "prompt_cache_retention", Type: text, Default: "24h", Page: page("How long prompts are kept in the cache, for models that let one choose.")},
		{Name: "extended_thinking_budget", Type: s.Opt(s.Int{}), Default: n("200000"), Page: page("How many tokens a model with a budget for thinking may spend on it.")},
		{Name: "seed", Type: s.Opt(s.Int{}), Page: page("Seed of the random choices.")},
		{Name: "usage_id", Type: s.String{}, Default: "default", Page: page("Name under which the use of this LLM is counted.")},
		{Name: "litellm_extra_body", Type: s.Dict{Of: s.Any{}}, Default: emptyMap, Page: page("Fields to add to the body of each request, for servers that take more than the protocol has.")},
		{Name: "fallback_strategy", Type: s.Any{}, Hidden: true},
		{Name: "is_subscription", Type: s.Bool{}, Default: false},
	}
}

func emptyMap() any { return s.NewMap() }

// prepare brings input into its present form (docs/openhands/sdk-wire-1.58.md
// section B.7).
func prepare(m *s.Map) error {
	model, ok := m.Get("model").(string)
	if v, there := m.Lookup("model"); there && !ok && v != nil {
		return nil // its type is refused below
	}
	if model == "" {
		return errors.New("model must be specified in LLM")
	}
	if _, ok := m.Lookup("stream_idle_timeout"); !ok {
		if v, ok := m.Lookup("timeout"); ok {
			m.Set("stream_idle_timeout", v)
		}
	}
	if strings.HasPrefix(model, "azure") && (m.Get("api_version") == nil || m.Get("api_version") == "") {
		m.Set("api_version", azureVersion)
	}
	if base := m.Get("base_url"); strings.HasPrefix(model, "openai/") &&
		(base == "https://api.openai.com" || base == "https://api.openai.com/") {
		m.Set("base_url", nil)
	}
	m.Delete("modify_params") // removed in 1.47
	m.Delete("schema_version")
	return nil
}

const (
	proxyPrefix = "litellm_proxy/"
	ownPrefix   = "openhands/"
	proxyURL    = "https://llm-proxy.app.all-hands.dev"
)

// Canonicalize renames models that were saved as those of OpenHands' proxy to
// the provider's own names, in place.
func CanonicalizeLLM(m *s.Map) {
	model, base := m.Text("model"), strings.TrimRight(strings.TrimSpace(m.Text("base_url")), "/")
	proxied := base == proxyURL || base == proxyURL+"/v1"
	switch name, isProxy := strings.CutPrefix(model, proxyPrefix); {
	case strings.HasPrefix(model, ownPrefix) && proxied:
		m.Delete("base_url")
	case isProxy && proxied && sold(name):
		m.Set("model", ownPrefix+name)
		m.Delete("base_url")
	}
}

// sold reports whether OpenHands' proxy serves a model under its plain name.
func sold(name string) bool {
	_, ok := catalog.Default().Lookup(name)
	return ok
}
