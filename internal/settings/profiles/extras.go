package profiles

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/llm"
	"github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/spec"
)

// Profile is a saved LLM with what Deft adds to it.
type Profile struct {
	LLM    *spec.LLM
	Extras Extras
}

// Extras are the settings of a saved LLM that the reference does not have. They
// are in the field "deft" of the file, which the reference ignores. Times are
// in seconds; 0 takes the default.
type Extras struct {
	// At most one of these says where the key is, instead of the LLM's api_key.
	// Without any, the provider's own environment variables are tried.
	APIKeyEnv  string `json:"api_key_env,omitempty"`  // name of a variable
	APIKeyFile string `json:"api_key_file,omitempty"` // absolute path

	// ContextLimit and KeepAlive are for Ollama, as in llm.Config.
	ContextLimit int     `json:"context_limit,omitempty"`
	KeepAlive    float64 `json:"keep_alive,omitempty"`

	FirstTokenTimeout float64 `json:"first_token_timeout,omitempty"`
	ConnectTimeout    float64 `json:"connect_timeout,omitempty"`
	// These go before fields of the LLM that count whole seconds.
	Timeout      float64 `json:"timeout,omitempty"`
	RetryMinWait float64 `json:"retry_min_wait,omitempty"`
	RetryMaxWait float64 `json:"retry_max_wait,omitempty"`

	// Fallback names the profiles to try, in order, when this one fails.
	Fallback []string `json:"fallback,omitempty"`
	// Vision names the profile that takes requests with images, and those of
	// more than TextLimit tokens (0: this model's context window).
	Vision    string `json:"vision,omitempty"`
	TextLimit int    `json:"text_limit,omitempty"`
}

// extrasKey is the field of the file that holds Extras.
const extrasKey = "deft"

// longest bounds times, in seconds: a day.
const longest = 24 * 60 * 60

var variables = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func extrasOf(m *schema.Map) (x Extras, err error) {
	if v, ok := m.Lookup(extrasKey); ok {
		raw, err := schema.Encode(v)
		if err != nil {
			return x, err
		}
		if err := json.Unmarshal(raw, &x); err != nil {
			return x, fmt.Errorf("%s: %w", extrasKey, err)
		}
	}
	return x, nil
}

// doc returns the extras as a document, nil if there are none.
func (x Extras) doc() (*schema.Map, error) {
	raw, err := json.Marshal(x)
	if err != nil {
		return nil, err
	}
	v, err := schema.Parse(raw)
	if m, _ := v.(*schema.Map); m.Len() > 0 {
		return m, err
	}
	return nil, err
}

// Doc returns the profile as it may leave the process: its LLM, with what Deft
// adds in one field.
func (p Profile) Doc(how schema.Writing) (*schema.Map, error) {
	doc, err := p.LLM.Doc()
	if err != nil {
		return nil, err
	}
	if doc, err = spec.LLMSchema.Dump(doc, how); err != nil {
		return nil, err
	}
	extras, err := p.Extras.doc()
	if extras != nil {
		doc.Set(extrasKey, extras)
	}
	return doc, err
}

// names are the other profiles that this one uses.
func (x Extras) names() []string {
	out := slices.Clone(x.Fallback)
	if x.Vision != "" {
		out = append(out, x.Vision)
	}
	return out
}

// Check says whether the profile makes sense in itself. Errors are
// schema.Violations or of kind Invalid, and never show what may be a key.
func (p Profile) Check() error {
	doc, err := p.LLM.Doc()
	if err != nil {
		return err
	}
	if _, err := spec.LLMSchema.Check(doc, schema.Reading{}); err != nil {
		return err
	}
	x := p.Extras
	bad := func(what string) error { return fault.New(fault.Invalid, what) }
	switch {
	case x.APIKeyEnv != "" && !variables.MatchString(x.APIKeyEnv):
		return bad("api_key_env takes the name of a variable, not a key")
	case x.APIKeyFile != "" && !filepath.IsAbs(x.APIKeyFile):
		return bad("api_key_file must be an absolute path")
	case x.APIKeyEnv != "" && x.APIKeyFile != "" || p.LLM.HasKey() && (x.APIKeyEnv != "" || x.APIKeyFile != ""):
		return bad("a profile has one key: api_key, api_key_env or api_key_file")
	case (p.LLM.InputCostPerToken == nil) != (p.LLM.OutputCostPerToken == nil):
		return bad("the prices of input and output must both be given")
	case x.ContextLimit < 0 || x.TextLimit < 0:
		return bad("context_limit and text_limit must not be negative")
	case !(x.KeepAlive >= -longest && x.KeepAlive <= 365*longest):
		return bad("keep_alive must be at most a year, in seconds")
	}
	for name, seconds := range map[string]float64{
		"timeout": x.Timeout, "first_token_timeout": x.FirstTokenTimeout, "connect_timeout": x.ConnectTimeout,
		"retry_min_wait": x.RetryMinWait, "retry_max_wait": x.RetryMaxWait,
	} {
		if !(seconds >= 0 && seconds <= longest) || math.IsNaN(seconds) {
			return bad(name + " must be between 0 and 86400 seconds")
		}
	}
	for _, name := range x.names() {
		if !Names.MatchString(name) {
			return bad(fmt.Sprintf("%q cannot be the name of a profile", name))
		}
	}
	return nil
}

// key returns the key of the profile: its own, that of the variable or the file
// that it names, or that of one of the provider's usual variables.
func (p Profile) key(env func(string) string, usual []string) (llm.Secret, error) {
	x := p.Extras
	switch {
	case p.LLM.HasKey():
		return p.LLM.APIKey, nil
	case x.APIKeyFile != "":
		return keyFromFile(x.APIKeyFile)
	case x.APIKeyEnv != "":
		if env(x.APIKeyEnv) == "" {
			return "", fault.New(fault.Auth, "the environment variable "+x.APIKeyEnv+" is empty").Hint("set it to the key")
		}
		usual = []string{x.APIKeyEnv}
	}
	return keyFrom(p.LLM, env, usual)
}
