package schema

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/deft-dev/deft/fault"
)

// Violation is one thing that is wrong with a document, in the form of the
// reference's validation (docs/openhands/sdk-wire.md section 2).
type Violation struct {
	Type  string         `json:"type"` // "missing", "int_parsing" …
	Loc   []any          `json:"loc"`  // where: for a request "body", "query" or "path" come first
	Msg   string         `json:"msg"`
	Input any            `json:"input"`
	Ctx   map[string]any `json:"ctx,omitempty"`
	// Choices are the texts that fit: the kinds of a union, or the values of an enumeration.
	Choices []string `json:"-"`
}

// Violations is an error of several; its kind is fault.Invalid.
type Violations []Violation

// Error implements error.
func (v Violations) Error() string {
	if len(v) == 0 {
		return "the request is not valid"
	}
	return v[0].Msg
}

// As lets [fault.KindOf] classify violations as fault.Invalid.
func (v Violations) As(target any) bool {
	e, ok := target.(**fault.Error)
	if ok {
		*e = fault.New(fault.Invalid, v.Error())
	}
	return ok
}

// Located returns an error that says where the first violation is, for people who have
// written the document; other errors as they are. Values, which may be secrets, stay out of it.
func Located(err error) error {
	found, ok := errors.AsType[Violations](err)
	if !ok || len(found) == 0 {
		return err
	}
	v := found[0]
	var path []string
	for _, part := range v.Loc {
		path = append(path, fmt.Sprint(part))
	}
	text := v.Msg
	if len(path) > 0 {
		text = strings.Join(path, ".") + ": " + text
	}
	return fault.New(fault.Invalid, text)
}

// MostViolations is how many violations of one document are reported at most:
// an answer must not be many times as long as a hostile document.
const MostViolations = 1000

// Missing returns the violation of an absent field, at a location such as
// "body", "command".
func Missing(loc ...any) Violations {
	return Violations{{Type: "missing", Loc: loc, Msg: "Field required"}}
}

// Invalid returns a violation with a message of one's own.
func Invalid(msg string, input any, loc ...any) Violations {
	return Violations{{
		Type: "value_error", Loc: loc, Msg: "Value error, " + msg, Input: input,
		Ctx: map[string]any{"error": msg},
	}}
}

// groups are the lengths of a UUID's parts between its dashes (RFC 9562).
var groups = []int{8, 4, 4, 4, 12}

// ParseUUID reads a UUID of a request as 32 hexadecimal digits: plain, with
// dashes, or with dashes in braces or as a URN. loc is where it was.
func ParseUUID(s string, loc ...any) (string, Violations) {
	text, before := s, 0
	switch {
	case strings.HasPrefix(s, "urn:uuid:"):
		text, before = s[len("urn:uuid:"):], len("urn:uuid:")
	case len(s) > 1 && s[0] == '{' && s[len(s)-1] == '}':
		text, before = s[1:len(s)-1], 1
	}
	why := uuidFault(text, before)
	if why == "" {
		return strings.ToLower(strings.ReplaceAll(text, "-", "")), nil
	}
	return "", Violations{{
		Type: "uuid_parsing", Loc: loc, Msg: "Input should be a valid UUID, " + why, Input: s,
		Ctx: map[string]any{"error": why},
	}}
}

// uuidFault returns why text is no UUID, or "". before is the number of letters
// that were cut off in front of it, which only the form with dashes allows.
func uuidFault(text string, before int) string {
	for i, c := range text {
		if !strings.ContainsRune("0123456789abcdefABCDEF-", c) {
			return fmt.Sprintf("invalid character: found `%c` at %d", c, before+i+1)
		}
	}
	parts := strings.Split(text, "-")
	switch {
	case len(parts) == 1 && before == 0:
		if len(text) != hex.EncodedLen(16) {
			return fmt.Sprintf("invalid length: expected length 32 for simple format, found %d", len(text))
		}
	case len(parts) != len(groups):
		return fmt.Sprintf("invalid group count: expected 5, found %d", len(parts))
	default:
		got := make([]int, 0, len(parts))
		for _, p := range parts {
			got = append(got, len(p))
		}
		for i := range got {
			if got[i] != groups[i] && !slices.Equal(got, groups) {
				return fmt.Sprintf("invalid group length in group %d: expected %d, found %d", i, groups[i], got[i])
			}
		}
	}
	return ""
}
