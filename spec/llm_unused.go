package spec

import (
	"bytes"
	"maps"
	"slices"

	"github.com/deft-dev/deft/schema"
)

// withoutEffect holds the fields that Deft takes, keeps and does nothing with,
// each with the reason; docs/agent-server.md names them for users. A test holds
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
		got, err := schema.Encode(doc.Get(name))
		usual, err2 := schema.Encode(defaults.Get(name))
		if err == nil && err2 == nil && !bytes.Equal(got, usual) {
			names = append(names, name)
		}
	}
	return names
}
