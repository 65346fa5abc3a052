package registry

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"regexp"
	"slices"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
)

// schemaVersion is the version of the form of a profile.
const schemaVersion = 1

// Profile describes a model and how to call it (docs/openhands/sdk-features.md
// section 1, "Profiles"). It never contains a key in plain text: it refers to
// the key, or contains it encrypted.
type Profile struct {
	SchemaVersion int    `json:"schema_version"` // 1
	Model         string `json:"model"`          // with its prefix
	BaseURL       string `json:"base_url,omitempty"`
	// API is llm.APIChat, llm.APIResponses, or llm.APIAuto (also when empty).
	API        string `json:"api,omitempty"`
	APIVersion string `json:"api_version,omitempty"` // of Azure OpenAI
	// ContextLimit and KeepAlive (in seconds; a negative value leaves it to the
	// server) are for Ollama, as in llm.Config.
	ContextLimit int     `json:"context_limit,omitempty"`
	KeepAlive    float64 `json:"keep_alive,omitempty"`
	// CacheRetention is RetentionDay, RetentionShort, or empty for the
	// catalogue's.
	CacheRetention string `json:"cache_retention,omitempty"`

	// At most one of these refers to the key. Without any, the provider's own
	// environment variables are used.
	APIKeyEnv    string `json:"api_key_env,omitempty"`    // name of a variable
	APIKeyFile   string `json:"api_key_file,omitempty"`   // absolute path
	SealedAPIKey string `json:"sealed_api_key,omitempty"` // by a Cipher

	// Defaults of requests that do not say otherwise.
	ReasoningEffort string   `json:"reasoning_effort,omitempty"`
	MaxOutputTokens int      `json:"max_output_tokens,omitempty"`
	Temperature     *float64 `json:"temperature,omitempty"`
	TopP            *float64 `json:"top_p,omitempty"`

	// Time limits, in seconds; 0 takes the defaults of llm.Config.
	Timeout           float64 `json:"timeout,omitempty"`
	FirstTokenTimeout float64 `json:"first_token_timeout,omitempty"`
	StreamIdleTimeout float64 `json:"stream_idle_timeout,omitempty"`
	ConnectTimeout    float64 `json:"connect_timeout,omitempty"`

	// Retries; 0 takes the defaults of broker.Options. Waits are in seconds.
	NumRetries      int     `json:"num_retries,omitempty"` // attempts in all
	RetryMultiplier float64 `json:"retry_multiplier,omitempty"`
	RetryMinWait    float64 `json:"retry_min_wait,omitempty"`
	RetryMaxWait    float64 `json:"retry_max_wait,omitempty"`

	// Overrides of the catalogue. Prices are in US dollars for one million
	// tokens, both or none.
	ContextWindow int      `json:"context_window,omitempty"`
	InputPrice    *float64 `json:"input_price,omitempty"`
	OutputPrice   *float64 `json:"output_price,omitempty"`

	// Fallback names the profiles to try, in order, when this one fails.
	Fallback []string `json:"fallback,omitempty"`
	// Vision names the profile for requests with images, and for those of more
	// than TextLimit tokens (0: this model's context window).
	Vision    string `json:"vision,omitempty"`
	TextLimit int    `json:"text_limit,omitempty"`
}

var (
	names     = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
	variables = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	efforts   = []string{"", "none", "low", "medium", "high", "xhigh"}
)

// How long a provider keeps prompts in its cache: a day, or its default.
const (
	RetentionDay   = "24h"
	RetentionShort = "short"
)

// longest bounds times, in seconds: a day.
const longest = 24 * 60 * 60

func checkName(name string) error {
	if names.MatchString(name) {
		return nil
	}
	return fault.New(fault.Invalid, fmt.Sprintf("%q is not a valid profile name", name)).
		Hint("use 1 to 64 letters, digits, dots, dashes and underscores, beginning with a letter or a digit")
}

// decodeProfile reads a profile. Unknown fields are an error: a misspelled one
// would silently have no effect.
func decodeProfile(data []byte) (Profile, error) {
	var version struct {
		SchemaVersion int `json:"schema_version"`
	}
	if err := json.Unmarshal(data, &version); err != nil {
		return Profile{}, fault.New(fault.Invalid, "it is not a JSON object").Because(err)
	}
	if version.SchemaVersion != schemaVersion {
		return Profile{}, fault.New(fault.Unsupported, fmt.Sprintf("its schema_version is %d, not %d", version.SchemaVersion, schemaVersion)).
			Hint("another version of Deft wrote it")
	}
	var p Profile
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&p); err != nil {
		return Profile{}, fault.New(fault.Invalid, "it is not a valid profile").Because(err)
	}
	return p, p.Check()
}

// Check validates the profile by itself. Errors are of kind Invalid and never
// show a value that may be a key.
func (p *Profile) Check() error {
	bad := func(what string) error { return fault.New(fault.Invalid, what) }
	switch {
	case p.Model == "":
		return bad("a profile needs a model")
	case !slices.Contains(efforts, p.ReasoningEffort):
		return bad("reasoning_effort must be none, low, medium, high or xhigh")
	case p.APIKeyEnv != "" && !variables.MatchString(p.APIKeyEnv):
		return bad("api_key_env takes the name of a variable, not a key")
	case (p.InputPrice == nil) != (p.OutputPrice == nil):
		return bad("input_price and output_price must both be given")
	case !slices.Contains([]string{"", llm.APIAuto, llm.APIChat, llm.APIResponses}, p.API):
		return bad("api must be auto, chat or responses")
	case !slices.Contains([]string{"", RetentionDay, RetentionShort}, p.CacheRetention):
		return bad("cache_retention must be 24h or short")
	case p.MaxOutputTokens < 0 || p.NumRetries < 0 || p.ContextWindow < 0 || p.TextLimit < 0 || p.ContextLimit < 0:
		return bad("max_output_tokens, num_retries, context_window, context_limit and text_limit must not be negative")
	case !(p.KeepAlive >= -longest && p.KeepAlive <= 365*longest):
		return bad("keep_alive must be at most a year, in seconds")
	}
	keys := 0
	for _, k := range []string{p.APIKeyEnv, p.APIKeyFile, p.SealedAPIKey} {
		if k != "" {
			keys++
		}
	}
	if keys > 1 {
		return bad("a profile has only one of api_key_env, api_key_file and sealed_api_key")
	}
	if u, err := url.Parse(p.BaseURL); err != nil || u.User != nil || u.RawQuery != "" {
		return bad("base_url must be an address without a user, a password or a query")
	}
	return p.checkNumbers()
}

func (p *Profile) checkNumbers() error {
	for name, seconds := range map[string]float64{
		"timeout": p.Timeout, "first_token_timeout": p.FirstTokenTimeout, "stream_idle_timeout": p.StreamIdleTimeout,
		"connect_timeout": p.ConnectTimeout, "retry_multiplier": p.RetryMultiplier, "retry_min_wait": p.RetryMinWait, "retry_max_wait": p.RetryMaxWait,
	} {
		if !(seconds >= 0 && seconds <= longest) {
			return fault.New(fault.Invalid, name+" must be between 0 and 86400 seconds")
		}
	}
	for name, price := range map[string]*float64{"input_price": p.InputPrice, "output_price": p.OutputPrice} {
		if price != nil && (!(*price >= 0) || math.IsInf(*price, 0)) {
			return fault.New(fault.Invalid, name+" must not be negative")
		}
	}
	for _, name := range slices.Concat(p.Fallback, []string{p.Vision}) {
		if name == "" {
			continue
		}
		if err := checkName(name); err != nil {
			return err
		}
	}
	return nil
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// config returns the adapter's configuration, without the key.
func (p *Profile) config() llm.Config {
	c := llm.Config{
		Model: p.Model, BaseURL: p.BaseURL, API: p.API, APIVersion: p.APIVersion,
		ContextLimit: p.ContextLimit, KeepAlive: seconds(p.KeepAlive), Info: llm.Info{ContextWindow: p.ContextWindow},
		Timeout: seconds(p.Timeout), FirstTimeout: seconds(p.FirstTokenTimeout),
		IdleTimeout: seconds(p.StreamIdleTimeout), ConnectTimeout: seconds(p.ConnectTimeout),
	}
	if p.InputPrice != nil && p.OutputPrice != nil {
		in := *p.InputPrice
		c.Info.Price = llm.Price{Known: true, Input: in, CacheRead: in, CacheWrite: in, Output: *p.OutputPrice}
	}
	return c
}

// apply sets the profile's defaults in a request.
func (p *Profile) apply(r llm.Request) llm.Request {
	if r.ReasoningEffort == "" {
		r.ReasoningEffort = p.ReasoningEffort
	}
	if r.MaxOutputTokens == 0 {
		r.MaxOutputTokens = p.MaxOutputTokens
	}
	if r.Temperature == nil {
		r.Temperature = p.Temperature
	}
	if r.TopP == nil {
		r.TopP = p.TopP
	}
	return r
}
