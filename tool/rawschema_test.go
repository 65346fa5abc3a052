package tool_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/tool"
)

func TestParseSchema(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ raw, want string }{
		"order and dropped keys": {
			`{"$schema":"x","title":"T","additionalProperties":false,"type":"object","required":["z"],"properties":{"z":{"type":"string","default":"q","title":"Z","description":"last <first>"},"a":{"type":"integer","minimum":1}}}`,
			`{"type":"object","properties":{"z":{"type":"string","description":"last <first>"},"a":{"type":"integer"}},"required":["z"]}`,
		},
		"nullable": {
			`{"type":"object","properties":{"a":{"anyOf":[{"type":"null"},{"type":"string","enum":["x"]}],"description":"d"},"b":{"type":["null","number"]}}}`,
			`{"type":"object","properties":{"a":{"type":"string","description":"d","enum":["x"]},"b":{"type":"number"}}}`,
		},
		"references": {
			`{"type":"object","$defs":{"P":{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"]}},"properties":{"p":{"$ref":"#/$defs/P"},"l":{"type":"array","items":{"$ref":"#/$defs/P"}},"m":{"$ref":"#/$defs/Missing"}}}`,
			`{"type":"object","properties":{"p":{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"]},"l":{"type":"array","items":{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"]}},"m":{"type":"object"}}}`,
		},
		"recursion": {
			`{"type":"object","$defs":{"N":{"type":"object","properties":{"next":{"$ref":"#/$defs/N"}}}},"properties":{"n":{"$ref":"#/$defs/N"}}}`,
			`{"type":"object","properties":{"n":{"type":"object","properties":{"next":{"type":"object"}}}}}`,
		},
		"empty": {`{}`, `{"type":"object","properties":{}}`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := tool.ParseSchema(json.RawMessage(tc.raw))
			must.Succeed(t, err)
			got, err := s.MarshalJSON()
			must.Succeed(t, err)
			if diff := cmp.Diff(tc.want, string(got)); diff != "" {
				t.Errorf("schema (-want +got):\n%s", diff)
			}
		})
	}
	for _, raw := range []string{``, `null`, `[]`, `{`, `"x"`} {
		if _, err := tool.ParseSchema(json.RawMessage(raw)); !fault.Is(err, fault.Invalid) {
			t.Errorf("%q: %v", raw, err)
		}
	}
}

func TestForeignSchemaGetsTheCommonFields(t *testing.T) {
	t.Parallel()
	d := &tool.Definition{
		Name:       "fetch",
		Parameters: tool.Schema{Raw: json.RawMessage(`{"type":"object","properties":{"urls":{"type":"array","items":{"type":"string"}}},"required":["urls"]}`)},
		Decode:     func(args json.RawMessage) (event.Action, error) { return &event.MCPToolAction{Data: args}, nil },
	}
	got, err := tool.FunctionSchema(d)
	must.Succeed(t, err)
	want := `{"type":"object","properties":{` + risk + `"summary":{"type":"string"},"urls":{"type":"array","items":{"type":"string"}}},"required":["urls"]}`
	if diff := cmp.Diff(want, string(withoutDescriptions(t, got))); diff != "" {
		t.Errorf("schema (-want +got):\n%s", diff)
	}
	s, err := tool.NewSet(d)
	must.Succeed(t, err)
	p, err := s.Parse("fetch", `{"urls":"[\"a\"]","more":1,"security_risk":"LOW"}`)
	must.Succeed(t, err)
	if got := string(p.Action.(*event.MCPToolAction).Data); got != `{"urls":["a"],"more":1}` {
		t.Errorf("data = %s", got)
	}
}

// FuzzParseSchema checks that no schema of a foreign server makes the reader
// panic, and that the result is bounded and valid.
func FuzzParseSchema(f *testing.F) {
	f.Add([]byte(`{"type":"object","properties":{"a":{"anyOf":[{"type":"null"},{"$ref":"#/properties/a"}]}}}`))
	f.Add([]byte(`{"$ref":"#"}`))
	f.Add([]byte(`{"$ref":"#/$defs/a","$defs":{"a":{"items":{"$ref":"#/$defs/a"},"type":"array"}}}`))
	f.Add([]byte(`{"properties":` + strings.Repeat(`{"a":`, 40) + `1` + strings.Repeat(`}`, 40) + `}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		s, err := tool.ParseSchema(raw)
		if err != nil {
			return
		}
		if got, err := s.MarshalJSON(); err != nil || !json.Valid(got) {
			t.Errorf("%s, %v", got, err)
		}
	})
}
