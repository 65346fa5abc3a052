package spec

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/deft-dev/deft/llm/catalog"
	s "github.com/deft-dev/deft/schema"
)

// azureVersion is the api-version of Azure models without one.
const azureVersion = "2024-12-01-preview"

var llmFields = []s.Field{
	// Providers have values beyond the contract's, such as "minimal".
	{Name: "reasoning_effort", Type: s.Opt(s.String{})},
	{Name: "fallback_strategy", Type: s.Any{}, Hidden: true},
	{Name: "is_subscription", Type: s.Bool{}, Default: false},
	{Name: extrasKey, Type: s.Opt(extrasSchema), MayBeAbsent: true},
}

// LLMSchema describes the LLM object: its fields in the reference's order, with
// their defaults, and how the LLM page shows them.
var LLMSchema = Reference("LLM", s.Object{Before: prepareLLM}, llmFields...)

// ExtendedLLM is LLMSchema for documents whose unknown fields are kept.
var ExtendedLLM = Variant("LLM", s.Object{Before: prepareLLM, Extra: s.Keep}, llmFields...)

// prepareLLM brings input into its present form
// (docs/openhands/sdk-wire-1.58.md section B.7).
func prepareLLM(m *s.Map) error {
	model, ok := m.Get("model").(string)
	if v, there := m.Lookup("model"); there && !ok && v != nil {
		return nil // its type is refused later
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

// CanonicalizeLLM renames models that were saved under the names of OpenHands'
// proxy to the provider's own names, in place.
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

// HasEffect reports whether a field of an LLM changes Deft's behaviour.
func HasEffect(field string) bool {
	_, without := withoutEffect[field]
	return !without
}

// withoutEffect holds the fields that Deft takes, keeps and does nothing with,
// each with the reason; docs/agent-server-llm.md names them for users. A test holds
// every other field to an effect.
var withoutEffect = map[string]string{
	"auth_type":           "there are no subscriptions",
	"subscription_vendor": "there are no subscriptions",
	"is_subscription":     "there are no subscriptions",
	"custom_tokenizer":    "tokens are estimated, and then known from the provider's count",
	"max_message_chars":   "the reference reads it nowhere either; tools bound their own results",
	"fallback_strategy":   "the reference leaves it out of the wire",
}

// Unused names the settings of the LLM that differ from their defaults and
// have no effect here, to warn the user.
func (l *LLM) Unused() []string {
	doc, err := l.Doc()
	if err != nil {
		return nil
	}
	defaults := LLMSchema.Defaults()
	var names []string
	for _, name := range slices.Sorted(maps.Keys(withoutEffect)) {
		got, err := s.Encode(doc.Get(name))
		usual, err2 := s.Encode(defaults.Get(name))
		if err == nil && err2 == nil && !bytes.Equal(got, usual) {
			names = append(names, name)
		}
	}
	return names
}
