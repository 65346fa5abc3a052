package llm

import (
	"encoding/json"
	"net/http"
	"time"
)

// Config configures an adapter. Model is required; everything else has a
// default.
type Config struct {
	// Model is the model's name as the user wrote it, with its prefix
	// ("anthropic/claude-sonnet-5").
	Model string
	// WireModel is the name sent to the provider; default Model without the
	// provider's prefix.
	WireModel string
	// Provider names the service of the model in errors and in the catalogue;
	// default the adapter's own name.
	Provider string
	APIKey   Secret
	BaseURL  string // default the provider's own
	// API selects one of OpenAI's two protocols: APIChat, APIResponses, or
	// APIAuto (also when empty), which decides by the model's name.
	API string
	// APIVersion is the api-version of an Azure OpenAI resource. A date takes
	// the paths below /openai/deployments; "", "v1", "preview" and "latest" take
	// those below /openai/v1.
	APIVersion string
	// ContextLimit is the largest context window, in tokens, to request from a
	// server that allocates one per request (Ollama); 0 takes the adapter's
	// default.
	ContextLimit int
	// KeepAlive is how long a local server (Ollama) keeps the model loaded
	// after a call; 0 takes the adapter's default, a negative value the
	// server's.
	KeepAlive time.Duration
	// Headers are added to each request.
	Headers map[string]string
	// ExtraBody is added to the JSON body of each call, for parameters that the
	// protocol does not have. Objects are merged at their first level; other
	// values replace existing ones, except the model, the history, the tools
	// and the stream flag. Bedrock takes it as additional model fields.
	ExtraBody map[string]json.RawMessage
	// ToolsInText describes tools in the prompt and reads calls from the text,
	// even if the model supports tool calling.
	ToolsInText bool
	// CacheRetention is how long prompts stay in the cache of a model with a
	// configurable retention ([Quirks].CacheRetention); default "24h".
	CacheRetention string
	// ReasoningSummary is how detailed OpenAI's summaries of reasoning are:
	// "auto", also when empty, "concise" or "detailed".
	ReasoningSummary string
	// PlainReasoning requests no encrypted reasoning from OpenAI. Without it to
	// send back, each call thinks from the start.
	PlainReasoning bool
	// KeepParameters makes a parameter that the provider does not support an
	// error, instead of dropping it.
	KeepParameters bool
	// AWS has the credentials for Bedrock if they differ from the environment's; other
	// adapters ignore it.
	AWS AWS
	// Info overrides the catalogue's description; zero fields do not.
	Info Info
	// Quirks override the catalogue's quirks of the endpoint; nil takes the
	// catalogue's.
	Quirks *Quirks
	// Timeout limits a whole call, or the wait for the first chunk if the answer is
	// streamed; default 300 s. IdleTimeout limits the gap
	// between two chunks of a stream; default 300 s. FirstTimeout limits the
	// wait for the first chunk; default IdleTimeout. ConnectTimeout limits
	// connecting; default 10 s, not used with an HTTPClient.
	Timeout        time.Duration
	IdleTimeout    time.Duration
	FirstTimeout   time.Duration
	ConnectTimeout time.Duration
	// HTTPClient replaces the default client, for tests and proxies.
	HTTPClient *http.Client
}

// AWS selects the credentials for Amazon's services. Empty fields are taken
// from the environment and the files of the AWS CLI. A role takes precedence
// over a profile, and a profile over keys; the role is assumed with the keys.
type AWS struct {
	AccessKeyID, SecretAccessKey, SessionToken Secret

	Region      string // takes precedence over the region of the model's ARN
	Profile     string
	Role        string // its ARN
	SessionName string // of the role; default a name with the time
}

// Signs reports whether a selects credentials, and not only a region.
func (a AWS) Signs() bool {
	return a.AccessKeyID != "" || a.SecretAccessKey != "" || a.Profile != "" || a.Role != ""
}

// Values of [Config].API.
const (
	APIAuto      = "auto"
	APIChat      = "chat"
	APIResponses = "responses"
)

// Secret is a string that formats, logs and encodes as "[redacted]". Reveal
// returns its value.
type Secret string

// Reveal returns the value.
func (s Secret) Reveal() string { return string(s) }

// String implements fmt.Stringer.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "[redacted]"
}

// GoString implements fmt.GoStringer, so that %#v does not show the value.
func (s Secret) GoString() string { return s.String() }

// MarshalText implements encoding.TextMarshaler; encoders write "[redacted]".
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
