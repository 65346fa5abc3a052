package tool_test

import (
	"encoding/json"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/tool"
)

// TestOffersThatDiffer has two schemas that differ in one thing only never
// share their encoded form.
func TestOffersThatDiffer(t *testing.T) {
	t.Parallel()
	text := func(p tool.Property) tool.Schema { return tool.Schema{Properties: []tool.Property{p}} }
	inner := tool.Schema{Properties: []tool.Property{{Name: "i", Type: "string"}}}
	seen := map[string]int{}
	for i, d := range []tool.Definition{
		{Parameters: text(tool.Property{Name: "a", Type: "string"})},
		{Parameters: text(tool.Property{Name: "a", Type: "string"}), Annotations: event.Annotations{ReadOnly: true}},
		{Parameters: text(tool.Property{Name: "as", Type: "tring"})},
		{Parameters: text(tool.Property{Name: "a", Type: "number"})},
		{Parameters: text(tool.Property{Name: "a", Type: "string", Required: true})},
		{Parameters: text(tool.Property{Name: "a", Type: "string", Description: "d"})},
		{Parameters: text(tool.Property{Name: "a", Type: "string", Enum: []string{"d"}})},
		{Parameters: text(tool.Property{Name: "a", Type: "string", Enum: []string{"d", ""}})},
		{Parameters: text(tool.Property{Name: "a", Type: "array", Items: &tool.Property{Type: "string"}})},
		{Parameters: text(tool.Property{Name: "a", Type: "array", Items: &tool.Property{Type: "number"}})},
		{Parameters: text(tool.Property{Name: "a", Type: "object", Object: &inner})},
		{Parameters: text(tool.Property{Name: "a", Type: "object", Object: &tool.Schema{Raw: json.RawMessage(`{"type":"object"}`)}})},
		{Parameters: tool.Schema{Raw: json.RawMessage(`{"type":"object","properties":{"a":{"type":"boolean"}}}`)}},
		{},
	} {
		for range 2 { // made, and kept
			got, err := tool.FunctionSchema(&d)
			must.Succeed(t, err)
			if before, ok := seen[string(got)]; ok && before != i {
				t.Errorf("%d and %d are both %s", before, i, got)
			}
			seen[string(got)] = i
		}
	}
}
