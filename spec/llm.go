package spec

import (
	"sync"

	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/schema"
)

// LLM is the object of the wire. Pointers are nil where the wire has null; the
// empty Secret is null as well. See LLMSchema for defaults: a literal LLM
// has none, [NewLLM] has all.
type LLM struct {
	Model                     string     `json:"model"`
	APIKey                    llm.Secret `json:"api_key"`
	ProviderConnectionID      *string    `json:"provider_connection_id"`
	AuthType                  string     `json:"auth_type"`
	SubscriptionVendor        *string    `json:"subscription_vendor"`
	BaseURL                   *string    `json:"base_url"`
	APIVersion                *string    `json:"api_version"`
	AWSAccessKeyID            llm.Secret `json:"aws_access_key_id"`
	AWSSecretAccessKey        llm.Secret `json:"aws_secret_access_key"`
	AWSSessionToken           llm.Secret `json:"aws_session_token"`
	AWSRegionName             *string    `json:"aws_region_name"`
	AWSProfileName            *string    `json:"aws_profile_name"`
	AWSRoleName               *string    `json:"aws_role_name"`
	AWSSessionName            *string    `json:"aws_session_name"`
	AWSBedrockRuntimeEndpoint *string    `json:"aws_bedrock_runtime_endpoint"`
	OpenRouterSiteURL         string     `json:"openrouter_site_url"`
	OpenRouterAppName         string     `json:"openrouter_app_name"`

	NumRetries         int               `json:"num_retries"` // attempts in all, as the reference counts
	RetryMultiplier    float64           `json:"retry_multiplier"`
	RetryMinWait       int               `json:"retry_min_wait"` // seconds
	RetryMaxWait       int               `json:"retry_max_wait"`
	Timeout            *int              `json:"timeout"` // seconds; nil for no limit
	StreamIdleTimeout  *float64          `json:"stream_idle_timeout"`
	MaxMessageChars    int               `json:"max_message_chars"`
	Temperature        *float64          `json:"temperature"`
	TopP               *float64          `json:"top_p"`
	TopK               *float64          `json:"top_k"`
	MaxInputTokens     *int              `json:"max_input_tokens"`
	MaxOutputTokens    *int              `json:"max_output_tokens"`
	ModelCanonicalName *string           `json:"model_canonical_name"`
	APIMode            string            `json:"api_mode"`
	Capabilities       map[string]any    `json:"capability_overrides"`
	ExtraHeaders       map[string]string `json:"extra_headers"`
	InputCostPerToken  *float64          `json:"input_cost_per_token"` // US dollars
	OutputCostPerToken *float64          `json:"output_cost_per_token"`
	OllamaBaseURL      *string           `json:"ollama_base_url"`

	Stream                   bool        `json:"stream"`
	DropParams               bool        `json:"drop_params"`
	DisableVision            *bool       `json:"disable_vision"`
	DisableStopWord          *bool       `json:"disable_stop_word"`
	CachingPrompt            bool        `json:"caching_prompt"`
	LogCompletions           bool        `json:"log_completions"`
	LogCompletionsFolder     string      `json:"log_completions_folder"`
	CustomTokenizer          *string     `json:"custom_tokenizer"`
	NativeToolCalling        bool        `json:"native_tool_calling"`
	ForceStringSerializer    *bool       `json:"force_string_serializer"`
	InlineImageURLs          *bool       `json:"inline_image_urls"`
	ReasoningEffort          *string     `json:"reasoning_effort"`
	ReasoningSummary         *string     `json:"reasoning_summary"`
	EnableEncryptedReasoning bool        `json:"enable_encrypted_reasoning"`
	PromptCacheRetention     *string     `json:"prompt_cache_retention"`
	ExtendedThinkingBudget   *int        `json:"extended_thinking_budget"`
	Seed                     *int        `json:"seed"`
	UsageID                  string      `json:"usage_id"`
	LiteLLMExtraBody         *schema.Map `json:"litellm_extra_body"`
	IsSubscription           bool        `json:"is_subscription"`

	// Deft holds fields that the reference does not have; nil for none. See
	// [LLM.Extras].
	Deft *LLMExtras `json:"deft"`

	// Unknown holds the fields that this version has no name for.
	Unknown *schema.Map `json:"-"`
}

// NewLLM returns an LLM of a model with the defaults of everything else.
func NewLLM(model string) *LLM {
	m := LLMSchema.Defaults()
	m.Set("model", model)
	l, err := LLMFrom(m)
	if err != nil { // the defaults fit the struct; a test holds it
		return &LLM{Model: model}
	}
	return l
}

// DecodeLLM reads an LLM, with its secrets opened by how.Keys. loc is its location
// in the request. Errors are schema.Violations or schema.ErrSealed, and plain ones
// for invalid JSON.
func DecodeLLM(raw []byte, how schema.Reading, loc ...any) (*LLM, error) {
	v, err := schema.Parse(raw)
	if err != nil {
		return nil, err
	}
	return CheckLLM(v, how, loc...)
}

// CheckLLM is [DecodeLLM] for a document that is parsed already.
func CheckLLM(v any, how schema.Reading, loc ...any) (*LLM, error) {
	doc, err := ExtendedLLM.Check(v, how, loc...)
	if err != nil {
		return nil, err
	}
	return LLMFrom(doc)
}

// LLMFrom returns the LLM of a checked document.
func LLMFrom(doc *schema.Map) (*LLM, error) {
	l := &LLM{}
	if err := schema.Into(doc, l); err != nil {
		return nil, err
	}
	named := known()
	for _, k := range doc.Keys() {
		if named[k] {
			continue
		}
		if l.Unknown == nil {
			l.Unknown = schema.NewMap()
		}
		l.Unknown.Set(k, doc.Get(k))
	}
	return l, nil
}

// known are the names of the LLM's fields.
var known = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{}
	for _, f := range LLMSchema.All() {
		names[f.Name] = true
	}
	return names
})

// Doc returns the checked document of the LLM, with its secrets in the clear.
func (l *LLM) Doc() (*schema.Map, error) {
	m, err := schema.From(l)
	if err != nil {
		return nil, err
	}
	if m.Object(extrasKey).Len() == 0 {
		m.Delete(extrasKey)
	}
	for _, k := range []string{"capability_overrides", "litellm_extra_body"} {
		if m.Get(k) == nil {
			m.Set(k, schema.NewMap())
		}
	}
	for _, k := range l.Unknown.Keys() {
		m.Set(k, l.Unknown.Get(k))
	}
	return m, nil
}

// JSON returns the LLM as it may leave the process.
func (l *LLM) JSON(how schema.Writing) ([]byte, error) {
	m, err := l.Doc()
	if err != nil {
		return nil, err
	}
	if m, err = ExtendedLLM.Dump(m, how); err != nil {
		return nil, err
	}
	return schema.Encode(m)
}

// MarshalJSON implements json.Marshaler: secrets are masked.
func (l *LLM) MarshalJSON() ([]byte, error) { return l.JSON(schema.Writing{}) }

// Clone returns a copy for another use: its usage id is usage.
func (l *LLM) Clone(usage string) *LLM {
	c := *l
	c.UsageID = usage
	return &c
}

// HasKey reports whether there is a key that is not blank.
func (l *LLM) HasKey() bool { return l.APIKey != "" }
