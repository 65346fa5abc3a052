package llm

import (
	"encoding/json"
	"net/http"
	"time"
)

// Config configures an adapter. Model is required; everything else has a
// default.
type Config struct {
	// Model is the user's name for the model, prefix included
	// ("anthropic/claude-sonnet-5").
	Model string
	// WireModel is the name sent to the provider; default Model without the
	// provider's prefix.
	WireModel string
	// Provider names who serves the model, for errors and for what the
	// catalogue says about it; default the adapter's own name.
	Provider string
	APIKey   Secret
	BaseURL  string // default the provider's own
	// API chooses between the two protocols of OpenAI: APIChat, APIResponses, or
	// APIAuto, also when empty, which lets the model's name decide.
	API string
	// APIVersion is the api-version of an Azure OpenAI resource. A date takes
	// the paths below /openai/deployments; "", "v1", "preview" and "latest" take
	// those below /openai/v1.
	APIVersion string
	// ContextLimit bounds, in tokens, the context window that a server which
	// sets one up per request (Ollama) is asked for; 0 takes the adapter's own.
	ContextLimit int
	// KeepAlive is how long a local server (Ollama) keeps the model loaded
	// after a call; 0 takes the adapter's own, less leaves it to the server.
	KeepAlive time.Duration
	// Headers are added to each request.
	Headers map[string]string
	// ExtraBody is added to the JSON body of each call, for servers that take
	// more than the protocol has. Objects are joined with what is there by one
	// level; anything else replaces it, but not the model, the history, the
	// tools or whether to stream. Bedrock takes it as the model's own fields.
	ExtraBody map[string]json.RawMessage
	// ToolsInText describes tools in the prompt and reads calls from the text,
	// also where the model has tool calls of its own.
	ToolsInText bool
	// CacheRetention is how long prompts stay in the cache of a model that lets
	// one choose ([Quirks].CacheRetention); default "24h".
	CacheRetention string
	// ReasoningSummary is how detailed OpenAI's summaries of reasoning are:
	// "auto", also when empty, "concise" or "detailed".
	ReasoningSummary string
	// PlainReasoning asks for no encrypted reasoning, which OpenAI wants sent
	// back: each call then thinks anew.
	PlainReasoning bool
	// KeepParameters makes a parameter of a request that the provider has no
	// place for an error, instead of leaving it out.
	KeepParameters bool
	// AWS holds the keys for Bedrock where they are not those of the
	// environment; other adapters do not look at it.
	AWS AWS
	// Info overrides what the catalogue knows; zero fields do not.
	Info Info
	// Quirks override what the catalogue says about the endpoint's parameters;
	// nil takes the catalogue's.
	Quirks *Quirks
	// Timeout bounds a whole call; default 300 s. IdleTimeout bounds the gap
	// between two chunks of a stream; default 300 s. FirstTimeout bounds the
	// wait for the first chunk; default IdleTimeout. ConnectTimeout bounds the
	// making of a connection; default 10 s, and not used with an HTTPClient.
	Timeout        time.Duration
	IdleTimeout    time.Duration
	FirstTimeout   time.Duration
	ConnectTimeout time.Duration
	// HTTPClient replaces the default client, for tests and proxies.
	HTTPClient *http.Client
}

// AWS says who signs requests to Amazon's services. What is empty is taken from
// the environment and the files of the AWS CLI. Of several, a role goes before
// a profile, and that before keys; the role is assumed with the keys.
type AWS struct {
	AccessKeyID, SecretAccessKey, SessionToken Secret

	Region      string // also before that of the model's ARN
	Profile     string
	Role        string // its ARN
	SessionName string // of the role; default one with the time in it
}

// Signs reports whether a says who signs, and not only where.
func (a AWS) Signs() bool {
	return a.AccessKeyID != "" || a.SecretAccessKey != "" || a.Profile != "" || a.Role != ""
}

// Values of [Config].API.
const (
	APIAuto      = "auto"
	APIChat      = "chat"
	APIResponses = "responses"
)

// Secret is a string that formats, logs and encodes as "[redacted]". Use
// Reveal where the value is really needed.
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
