package tool

import (
	"fmt"
	"io"
	"log/slog"
)

// Secrets are environment variables with secret values that one action is
// given. They print, log and encode as [redacted]; code that passes them on
// converts them to a plain map. They are in no event and in no journal.
type Secrets map[string]string

const redacted = "[redacted]"

// Format implements [fmt.Formatter] without the values.
func (Secrets) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// LogValue implements [slog.LogValuer] without the values.
func (Secrets) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalJSON writes no value.
func (Secrets) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }
