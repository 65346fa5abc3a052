package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
)

// Arguments are the arguments of one call while they are repaired: a JSON
// object that keeps its order.
type Arguments struct {
	order  []string
	values map[string]json.RawMessage
}

// Get returns the JSON of an argument; ok is false if it is missing.
func (a *Arguments) Get(name string) (value json.RawMessage, ok bool) {
	value, ok = a.values[name]
	return value, ok
}

// Has reports whether the argument is given.
func (a *Arguments) Has(name string) bool { _, ok := a.values[name]; return ok }

// Set gives an argument a value, which must be valid JSON.
func (a *Arguments) Set(name string, value json.RawMessage) {
	if !a.Has(name) {
		a.order = append(a.order, name)
	}
	a.values[name] = value
}

// SetText gives an argument a string.
func (a *Arguments) SetText(name, value string) {
	raw, err := encode(value)
	if err != nil {
		return // a string always encodes
	}
	a.Set(name, raw)
}

// Delete removes an argument.
func (a *Arguments) Delete(name string) {
	if a.Has(name) {
		delete(a.values, name)
		a.order = slices.DeleteFunc(a.order, func(n string) bool { return n == name })
	}
}

// Rename moves the value of from to the name to, unless to is given.
func (a *Arguments) Rename(from, to string) {
	if v, ok := a.values[from]; ok && !a.Has(to) {
		a.Delete(from)
		a.Set(to, v)
	}
}

// Text returns the argument when it is a string, and "" otherwise.
func (a *Arguments) Text(name string) string { return text(a.values[name]) }

// JSON returns the arguments as one JSON object.
func (a *Arguments) JSON() json.RawMessage {
	b := []byte{'{'}
	for i, name := range a.order {
		if i > 0 {
			b = append(b, ',')
		}
		key, err := encode(name)
		if err != nil {
			continue // a string always encodes
		}
		b = append(append(append(b, key...), ':'), a.values[name]...)
	}
	return append(b, '}')
}

func (a *Arguments) dropNulls() {
	for _, name := range slices.Clone(a.order) {
		if string(a.values[name]) == "null" {
			a.Delete(name)
		}
	}
}

// parseArguments reads the text that a model wrote as arguments.
func parseArguments(raw string) (*Arguments, error) {
	b := bytes.TrimSpace([]byte(raw))
	if len(b) == 0 || string(b) == "null" {
		b = []byte("{}")
	}
	if !json.Valid(b) {
		b = escapeControls(b)
	}
	if inner := text(b); inner != "" && json.Valid([]byte(inner)) {
		b = bytes.TrimSpace([]byte(inner)) // encoded twice
	}
	values := make(map[string]json.RawMessage)
	if err := json.Unmarshal(b, &values); err != nil {
		return nil, argumentsError(b, err)
	}
	for name, v := range values {
		var compact bytes.Buffer
		if err := json.Compact(&compact, v); err != nil {
			return nil, argumentsError(b, err)
		}
		values[name] = compact.Bytes()
	}
	return &Arguments{order: keys(b), values: values}, nil
}

func argumentsError(b []byte, err error) error {
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return fault.New(fault.Invalid, "the arguments must be one JSON object")
	}
	if int(syntax.Offset) >= len(b) {
		return fault.New(fault.Invalid, fmt.Sprintf(
			"the arguments end in the middle of the JSON (after %d bytes); the answer was probably cut off: send it again, in smaller parts when it is long", len(b)))
	}
	return fault.New(fault.Invalid, fmt.Sprintf("the arguments are not valid JSON: %v at byte %d", err, syntax.Offset))
}

// escapeControls escapes the control characters that stand unescaped inside
// the strings of JSON text.
func escapeControls(b []byte) []byte {
	out := make([]byte, 0, len(b)+16)
	inString, escaped := false, false
	for _, c := range b {
		switch {
		case !inString:
			inString = c == '"'
		case escaped:
			escaped = false
		case c == '\\':
			escaped = true
		case c == '"':
			inString = false
		case c < 0x20:
			switch c {
			case '\n':
				out = append(out, `\n`...)
			case '\r':
				out = append(out, `\r`...)
			case '\t':
				out = append(out, `\t`...)
			default:
				out = fmt.Appendf(out, `\u%04x`, c)
			}
			continue
		}
		out = append(out, c)
	}
	return out
}

// popRisk takes security_risk, also misspelled, out of the arguments.
func popRisk(a *Arguments, own Schema) (event.Risk, string) {
	for _, name := range slices.Clone(a.order) {
		if _, taken := own.find(name); taken || !isRiskName(name) {
			continue
		}
		given := text(a.values[name])
		if given == "" {
			given = string(a.values[name])
		}
		a.Delete(name)
		risk := event.Risk(strings.ToUpper(strings.TrimSpace(given)))
		switch risk {
		case event.RiskLow, event.RiskMedium, event.RiskHigh, event.RiskUnknown:
			return risk, given
		}
		return event.RiskUnknown, given
	}
	return event.RiskUnknown, ""
}

// isRiskName reports whether name is security_risk with at most two slips.
func isRiskName(name string) bool {
	if name == argRisk {
		return true
	}
	if len(name) > 2*len(argRisk) {
		return false
	}
	plain := strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == ' ' {
			return -1
		}
		return r
	}, strings.ToLower(name))
	return levenshtein.ComputeDistance(plain, "securityrisk") <= 2
}

// popSummary takes summary out of the arguments, or reads it and leaves it
// there when the tool itself has such a field.
func popSummary(a *Arguments, own Schema) string {
	s := strings.TrimSpace(a.Text(argSummary))
	if _, has := own.find(argSummary); !has {
		a.Delete(argSummary)
	}
	return s
}
