package rest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/deft-dev/deft/internal/lazyregexp"
	"github.com/deft-dev/deft/schema"
)

// CheckObservability checks the headers that describe a conversation's traces, which
// have no effect here, by the reference's rules (docs/openhands/sdk-wire-1.58.md
// sections B.2 and C). Any text is a list of tags or a parent's context, as it is
// there. The name of the span is not checked if the body has one, which counts.
func CheckObservability(r *http.Request, inBody bool) error {
	const prefix = "X-OpenHands-Observability-"
	if name := r.Header.Get(prefix + "Span-Name"); name != "" && !inBody {
		if err := CheckSpanName(name); err != nil {
			return schema.Invalid(prefix+"Span-Name: "+err.Error(), name, "header")
		}
	}
	text := r.Header.Get(prefix + "Metadata")
	if text == "" {
		return nil
	}
	metadata, err := schema.Parse([]byte(text))
	if err != nil {
		return Fail(http.StatusUnprocessableEntity, prefix+"Metadata must be a JSON object")
	}
	if err := CheckTraceMetadata(metadata); err != nil {
		return schema.Invalid(prefix+"Metadata: "+err.Error(), metadata, "header")
	}
	return nil
}

var spanName = lazyregexp.New(`^[A-Za-z0-9._:/-]{1,128}$`)

// CheckSpanName describes the mistake in the name of a span.
func CheckSpanName(v any) error {
	if name, ok := v.(string); ok && spanName().MatchString(name) {
		return nil
	}
	return errors.New("Observability span name must be 1 to 128 letters, digits and the marks . _ : / -") //nolint:staticcheck // clients look for the reference's first words
}

// CheckTraceMetadata describes the mistake in the metadata of traces: they are an
// object of single values and of lists of one type of them.
func CheckTraceMetadata(v any) error {
	m, ok := v.(*schema.Map)
	if !ok {
		return errors.New("Observability metadata must be an object") //nolint:staticcheck // as above
	}
	for _, key := range m.Keys() {
		list, ok := m.Get(key).([]any)
		if !ok {
			list = []any{m.Get(key)}
		}
		if key == "" || len(list) > 0 && (typeOf(list[0]) == "" || slices.ContainsFunc(list, func(one any) bool { return typeOf(one) != typeOf(list[0]) })) {
			return fmt.Errorf("Observability metadata value for '%s' must be a text, a number or a truth value, or a list of one of them", key) //nolint:staticcheck // as above
		}
	}
	return nil
}

func typeOf(v any) string {
	switch v := v.(type) {
	case string:
		return "text"
	case bool:
		return "truth value"
	case json.Number:
		if strings.ContainsAny(v.String(), ".eE") {
			return "fraction"
		}
		return "number"
	}
	return ""
}
