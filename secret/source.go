package secret

import (
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
)

// Kinds of sources.
const (
	KindStatic = "StaticSecret"
	KindLookup = "LookupSecret"
)

// Source says where the value of a secret comes from. It prints and encodes
// without its value; [Source.Append] writes the other forms.
type Source struct {
	Kind        string            // KindStatic or KindLookup
	Description string            // for the model; empty for none
	Value       string            // of a static one; empty for none
	Sealed      string            // the token of a static one that no key opens, in place of a value
	URL         string            // of a lookup: fetched with GET, absolute
	Headers     map[string]string // of a lookup, sent with it
}

// Static returns a source that holds its value.
func Static(value, description string) Source {
	return Source{Kind: KindStatic, Value: value, Description: description}
}

// Named is a source under its name, which is the name of an environment variable.
type Named struct {
	Name string
	Source
}

// Format implements [fmt.Formatter] without the value.
func (s Source) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.Kind+"[redacted]") }

// LogValue implements [slog.LogValuer] without the value.
func (s Source) LogValue() slog.Value { return slog.StringValue(s.Kind + "[redacted]") }

// MarshalJSON writes the masked form.
func (s Source) MarshalJSON() ([]byte, error) { return s.Append(nil, Masked, nil) }

// Format implements [fmt.Formatter] without the value.
func (n Named) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, n.Name+"=[redacted]") }

// LogValue implements [slog.LogValuer] without the value.
func (n Named) LogValue() slog.Value { return slog.StringValue(n.Name + "=[redacted]") }

// sensitive are the words that make a header one that holds a secret
// (openhands.sdk.utils.redact, is_secret_key).
var sensitive = []string{"AUTHORIZATION", "COOKIE", "CREDENTIAL", "KEY", "PASSWORD", "SECRET", "SESSION", "TOKEN"}

// Sensitive reports whether a header, a variable or a field of this name
// likely holds a secret, by the words in it.
func Sensitive(name string) bool {
	upper := strings.ToUpper(name)
	return slices.ContainsFunc(sensitive, func(word string) bool { return strings.Contains(upper, word) })
}

// NoValue reports whether text stands for no value: it is blank, or the mask
// of a value that was not shown.
func NoValue(text string) bool { return text == Redacted || strings.TrimSpace(text) == "" }
