package gemini_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/llm/gemini"
)

func TestCleanSchema(t *testing.T) {
	t.Parallel()
	wrap := func(s string) string { return `{"type":"object","properties":{"a":` + s + `}}` }
	for name, tt := range map[string]struct{ in, want string }{
		"refused keywords":    {`{"type":"string","$comment":"c","examples":["x"],"exclusiveMinimum":1,"deprecated":true,"maxLength":5}`, `{"maxLength":5,"type":"string"}`},
		"additional":          {`{"type":"object","properties":{"b":{"type":"string"}},"additionalProperties":false,"required":["b","gone","b"]}`, `{"properties":{"b":{"type":"string"}},"required":["b"],"type":"object"}`},
		"map":                 {`{"additionalProperties":{"type":"string"}}`, `{"type":"object"}`},
		"enum of strings":     {`{"enum":["x","y"]}`, `{"enum":["x","y"],"type":"string"}`},
		"enum of numbers":     {`{"type":"integer","enum":[1,2],"description":"How."}`, `{"description":"How. One of: 1, 2.","type":"integer"}`},
		"enum with null":      {`{"type":["string","null"],"enum":["x",null]}`, `{"enum":["x"],"nullable":true,"type":"string"}`},
		"enum with nothing":   {`{"enum":["","x"]}`, `{"description":"One of: , x.","type":"string"}`},
		"const":               {`{"const":"x"}`, `{"enum":["x"],"type":"string"}`},
		"known format":        {`{"type":"string","format":"date-time"}`, `{"format":"date-time","type":"string"}`},
		"unknown format":      {`{"type":"string","format":"uri"}`, `{"type":"string"}`},
		"number format":       {`{"type":"integer","format":"int64","minimum":0}`, `{"format":"int64","minimum":0,"type":"integer"}`},
		"upper case":          {`{"type":"STRING"}`, `{"type":"string"}`},
		"nullable by type":    {`{"type":["null","boolean"]}`, `{"nullable":true,"type":"boolean"}`},
		"two types":           {`{"type":["string","integer"],"description":"d","minimum":1}`, `{"anyOf":[{"description":"d","minimum":1,"type":"string"},{"description":"d","minimum":1,"type":"integer"}]}`},
		"nullable by anyOf":   {`{"anyOf":[{"type":"string"},{"type":"null"}],"description":"d"}`, `{"description":"d","nullable":true,"type":"string"}`},
		"oneOf":               {`{"oneOf":[{"type":"string"},{"type":"array","items":{"type":"string"}}],"default":"x"}`, `{"anyOf":[{"type":"string"},{"items":{"type":"string"},"type":"array"}]}`},
		"oneOf beside object": {`{"type":"object","properties":{"b":{"type":"string"}},"oneOf":[{"required":["b"]}]}`, `{"properties":{"b":{"type":"string"}},"type":"object"}`},
		"allOf":               {`{"allOf":[{"properties":{"b":{"type":"string"}},"required":["b"]},{"properties":{"c":{"type":"integer"}},"required":["c"]}]}`, `{"properties":{"b":{"type":"string"},"c":{"type":"integer"}},"required":["b","c"],"type":"object"}`},
		"array of anything":   {`{"type":"array"}`, `{"items":{"type":"string"},"type":"array"}`},
		"tuple":               {`{"prefixItems":[{"type":"string"},{"type":"integer"}]}`, `{"items":{"anyOf":[{"type":"string"},{"type":"integer"}]},"type":"array"}`},
		"any value":           {`{}`, `{"type":"string"}`},
		"true":                {`true`, `{"type":"string"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := gemini.CleanSchema(json.RawMessage(wrap(tt.in)))
			must.Succeed(t, err)
			if diff := cmp.Diff(`{"properties":{"a":`+tt.want+`},"type":"object"}`, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCleanSchemaOfRoots(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		``: ``, `true`: ``, `{"type":"object"}`: ``, `{"type":"object","properties":{},"additionalProperties":false}`: ``,
		`{"$ref":"#/$defs/T","$defs":{"T":{"type":"object","properties":{"a":{"$ref":"#/definitions/U","description":"own"}}}},"definitions":{"U":{"type":"string","description":"theirs"}}}`: `{"properties":{"a":{"description":"own","type":"string"}},"type":"object"}`,
		`{"type":"object","properties":{"a":{"$ref":"https://e.com/s"},"b":{"$ref":"#/gone"},"c":{"allOf":[{"$ref":"#/$defs/x~1y"}]}},"$defs":{"x/y":{"type":"integer"}}}`:                    `{"properties":{"a":{"type":"object"},"b":{"type":"object"},"c":{"type":"integer"}},"type":"object"}`,
	} {
		got, err := gemini.CleanSchema(json.RawMessage(in))
		if err != nil || string(got) != want {
			t.Errorf("%s: %s, %v, want %s", in, got, err, want)
		}
	}
	if _, err := gemini.CleanSchema(json.RawMessage(`{"type":`)); err == nil {
		t.Error("broken JSON is taken")
	}
}

// TestRecursiveSchema checks that recursive references end.
func TestRecursiveSchema(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		`{"type":"object","properties":{"a":{"$ref":"#"}}}`,
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`,
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/t"}},"$defs":{"t":{"type":"object","properties":{"l":{"$ref":"#/$defs/t"},"r":{"$ref":"#/$defs/t"},"m":{"$ref":"#/$defs/t"}}}}}`,
	} {
		got, err := gemini.CleanSchema(json.RawMessage(in))
		if err != nil || !json.Valid(got) || strings.Contains(string(got), "$ref") || len(got) > 4<<20 {
			t.Errorf("%s: %d bytes, %v", in, len(got), err)
		}
	}
}

// FuzzCleanSchema feeds JSON. The result contains nothing that the API refuses,
// and converting it again changes nothing.
func FuzzCleanSchema(f *testing.F) {
	f.Add([]byte(`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]},"b":{"enum":[1]}},"required":["a"]}`))
	f.Add([]byte(`{"allOf":[{"$ref":"#"}]}`))
	f.Add([]byte(`{"type":["array","object"],"items":[{}],"oneOf":[true]}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		out, err := gemini.CleanSchema(in)
		if err != nil || out == nil {
			return
		}
		if !json.Valid(out) {
			t.Fatalf("not JSON: %s", out)
		}
		var v any
		must.Succeed(t, json.Unmarshal(out, &v))
		check(t, v)
	})
}

// check looks at each schema of a clean one.
func check(t *testing.T, v any) {
	t.Helper()
	s, ok := v.(map[string]any)
	if !ok {
		t.Fatalf("a schema that is no object: %v", v)
	}
	for _, k := range []string{"$ref", "oneOf", "allOf", "additionalProperties", "const", "$defs", "prefixItems"} {
		if _, ok := s[k]; ok {
			t.Errorf("%s is left in %v", k, s)
		}
	}
	forms, isAny := s["anyOf"].([]any)
	if _, typed := s["type"].(string); typed == isAny {
		t.Errorf("type and anyOf in %v", s)
	}
	for _, f := range forms {
		check(t, f)
	}
	props, _ := s["properties"].(map[string]any)
	for _, p := range props {
		check(t, p)
	}
	if items, ok := s["items"]; ok {
		check(t, items)
	} else if s["type"] == "array" {
		t.Errorf("an array without items: %v", s)
	}
}
