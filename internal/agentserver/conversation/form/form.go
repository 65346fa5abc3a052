// Package form checks the bodies of requests about conversations, so that all
// violations are reported at once with their locations, also those of fields
// that have no effect here (docs/openhands/sdk-wire.md section 5.1,
// docs/openhands/sdk-wire-1.58.md section B.2). The fields are those of the
// reference's contract; this package adds what the contract does not say.
//
// # Usage
//
//	if err := form.Start(raw); err != nil {
//		return err // schema.Violations
//	}
//
// # Concurrency and failure
//
// Everything is safe for concurrent use. What is wrong with bodies that are no
// JSON is found where they are decoded, and what is wrong with an agent where
// agents are made.
package form

import (
	"errors"
	"fmt"
	"regexp"
	"unicode/utf8"

	s "github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/spec"
)

// Start returns the violations of a request for a conversation.
func Start(raw []byte) error {
	_, err := start.Fits(raw, "body")
	return err
}

// Message returns the violations of a message that is sent.
func Message(raw []byte) error {
	_, err := message.Fits(raw, "body")
	return err
}

// The bodies of operations on one conversation (docs/openhands/sdk-wire.md
// section 4).
var (
	Patch     = spec.Reference("UpdateConversationRequest", s.Object{}, tags)
	Fork      = spec.Reference("ForkConversationRequest", s.Object{}, tags)
	Child     = spec.Reference("StartChildConversationRequest", s.Object{})
	Goal      = spec.Reference("StartGoalRequest", s.Object{})
	Question  = spec.Reference("AskAgentRequest", s.Object{})
	Secrets   = spec.Reference("UpdateSecretsRequest", s.Object{}, s.Field{Name: "secrets", Type: s.Sources{Source: source}})
	Policy    = spec.Reference("SetConfirmationPolicyRequest", s.Object{})
	Analyzer  = spec.Reference("SetSecurityAnalyzerRequest", s.Object{})
	Accepting = spec.Reference("ConfirmationResponseRequest", s.Object{})
)

// source takes a value without a kind, too.
var source = func() s.Kinds {
	k := spec.SecretSourceSchema
	k.Default, k.Mark = "StaticSecret", "value"
	return k
}()

var tags = s.Field{Name: "tags", Type: blank(checkTags, s.Dict{Of: s.String{}})}

// blank accepts null, and checks all else.
func blank(first func(v any) error, of s.Type) s.Type { return s.Opt(s.Guarded{First: first, Of: of}) }

var tagKey = regexp.MustCompile(`^[a-z0-9]+$`)

func checkTags(v any) error {
	m, ok := v.(*s.Map)
	if !ok {
		return nil
	}
	for _, key := range m.Keys() {
		if !tagKey.MatchString(key) {
			return fmt.Errorf("Tag key '%s' is invalid: keys must be lowercase alphanumeric only", key) //nolint:staticcheck // an answer's words
		}
		if value, ok := m.Get(key).(string); ok && utf8.RuneCountInString(value) > 256 {
			return fmt.Errorf("Tag value for '%s' exceeds 256 characters", key) //nolint:staticcheck // an answer's words
		}
	}
	return nil
}

var message = spec.Reference("SendMessageRequest", s.Object{}, s.Field{Name: "content", Type: s.List{Of: s.OneOf{
	{Name: "TextContent", Of: textContent}, {Name: "ImageContent", Of: spec.Variant("ImageContent", s.Object{})},
}}})

var textContent = spec.Reference("TextContent", s.Object{Before: func(m *s.Map) error { m.Delete("enable_truncation"); return nil }}) // of older clients

// The threshold of a policy is a risk, but not an unknown one.
var _ = spec.Reference("ConfirmRisky", s.Object{}, s.Field{Name: "threshold", Type: s.Guarded{
	First: func(v any) error {
		if v == "UNKNOWN" {
			return errors.New("threshold cannot be UNKNOWN")
		}
		return nil
	},
	Of: s.Choice{"UNKNOWN", "LOW", "MEDIUM", "HIGH"},
}})
