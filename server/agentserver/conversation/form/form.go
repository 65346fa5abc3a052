// Package form describes the bodies of requests about conversations, so that all
// violations are reported at once with their locations, also in fields that have
// no effect here (docs/openhands/sdk-wire.md section 5.1,
// docs/openhands/sdk-wire-1.58.md section B.2). The fields come from the
// reference's contract; this package adds the rules that the contract does not
// state.
//
// # Usage
//
//	var req StartRequest
//	if err := rest.Read(r, form.Start, &req); err != nil {
//		return err // schema.Violations
//	}
//
// # Concurrency and failure
//
// Everything is safe for concurrent use. Mistakes of an agent are found where
// agents are made.
package form

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/deft-dev/deft/confirmation"
	"github.com/deft-dev/deft/internal/lazyregexp"
	s "github.com/deft-dev/deft/schema"
	"github.com/deft-dev/deft/security"
	"github.com/deft-dev/deft/spec"
)

// The bodies of operations on one conversation (docs/openhands/sdk-wire.md
// section 4).
var (
	Patch     = spec.Reference("UpdateConversationRequest", s.Object{}, tags)
	Message   = spec.Reference("SendMessageRequest", s.Object{})
	Fork      = spec.Reference("ForkConversationRequest", s.Object{}, tags)
	Child     = spec.Reference("StartChildConversationRequest", s.Object{})
	Goal      = spec.Reference("StartGoalRequest", s.Object{})
	Question  = spec.Reference("AskAgentRequest", s.Object{})
	Secrets   = spec.Reference("UpdateSecretsRequest", s.Object{}, s.Field{Name: "secrets", Type: spec.SecretSources})
	Policy    = spec.Reference("SetConfirmationPolicyRequest", s.Object{})
	Analyzer  = spec.Reference("SetSecurityAnalyzerRequest", s.Object{})
	Navigate  = spec.Reference("NavigateConversationRequest", s.Object{})
	Accepting = spec.Reference("ConfirmationResponseRequest", s.Object{})
)

var tags = s.Field{Name: "tags", Type: blank(checkTags, s.Dict{Of: s.String{}})}

// blank accepts null, and checks all else.
func blank(first func(v any) error, of s.Type) s.Type { return s.Opt(s.Guarded{First: first, Of: of}) }

var tagKey = lazyregexp.New(`^[a-z0-9]+$`)

func checkTags(v any) error {
	m, ok := v.(*s.Map)
	if !ok {
		return nil
	}
	for _, key := range m.Keys() {
		if !tagKey().MatchString(key) {
			return fmt.Errorf("Tag key '%s' is invalid: keys must be lowercase alphanumeric only", key) //nolint:staticcheck // an answer's words
		}
		if value, ok := m.Get(key).(string); ok && utf8.RuneCountInString(value) > 256 {
			return fmt.Errorf("Tag value for '%s' exceeds 256 characters", key) //nolint:staticcheck // an answer's words
		}
	}
	return nil
}

// Confirm is the body of a request that names a preset; it is not in the contract.
var Confirm = &s.Object{Fields: []s.Field{{Name: "confirm", Type: presets, Required: true}}}

// Answers is the body of answers to questions, by action; it is not in the contract.
var Answers = &s.Object{Fields: []s.Field{{Name: "answers", Type: s.Dict{Of: &s.Object{Fields: []s.Field{
	{Name: "choice", Type: s.Enum{string(confirmation.Once), string(confirmation.Always), string(confirmation.Reject)}, Required: true},
	{Name: "reason", Type: s.String{}, Default: ""},
}}}, Required: true}}}

// Limits is the body of a change of limits; it is not in the contract.
var Limits = &s.Object{Fields: []s.Field{
	{Name: "max_iterations", Type: s.Int{Bounds: s.Bounds{GE: &least}}, Required: true},
	{Name: "max_budget_per_task", Type: s.Number{Bounds: s.Bounds{GE: new(float64)}}, Required: true},
}}

// HooksAnswer is the body of an answer about the project's hooks; it is not in the contract.
var HooksAnswer = &s.Object{Fields: []s.Field{
	{Name: "file", Type: s.String{}, Default: ""},
	{Name: "sha256", Type: s.String{}, Required: true},
	{Name: "allow", Type: s.Bool{}, Required: true},
}}

// Queued is the body of a request for a message that waits; it is not in the contract.
var Queued = &s.Object{Fields: []s.Field{{Name: "text", Type: s.String{}, Required: true}}}

// presets are the names of package security.
var presets = s.Enum(security.Presets())

// Title is the body of a request for a title, which the contract does not have.
var Title = &s.Object{Fields: []s.Field{{Name: "max_length", Type: s.Int{Bounds: s.Bounds{GE: &least, LE: &most}}, Default: s.Count(50)}}}

var least, most = 1.0, 200.0

var _ = spec.Reference("TextContent", s.Object{Before: func(m *s.Map) error { m.Delete("enable_truncation"); return nil }}) // of older clients

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
