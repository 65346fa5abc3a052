package rest_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/internal/agentserver/rest"
	"github.com/deft-dev/deft/schema"
)

// TestMistyped holds that a violation has the place and the value that the
// client sent.
func TestMistyped(t *testing.T) {
	t.Parallel()
	type inner struct {
		Names []string       `json:"names"`
		Sizes map[string]int `json:"sizes"`
		On    bool           `json:"on"`
	}
	type form struct {
		Count int     `json:"count"`
		Inner inner   `json:"inner"`
		Many  []inner `json:"many"`
	}
	for body, want := range map[string]schema.Violation{
		`{"count":"many"}`:                      {Type: "int_type", Loc: []any{"body", "count"}, Input: "many"},
		`{"count":1.5}`:                         {Type: "int_type", Loc: []any{"body", "count"}, Input: json.Number("1.5")},
		`{"inner":{"on":[true]}}`:               {Type: "bool_type", Loc: []any{"body", "inner", "on"}, Input: []any{true}},
		`{"inner":{"names":["a",{"b":1}]}}`:     {Type: "string_type", Loc: []any{"body", "inner", "names", 1}, Input: map[string]any{"b": json.Number("1")}},
		`{"inner":{"sizes":{"a":1,"b":"big"}}}`: {Type: "int_type", Loc: []any{"body", "inner", "sizes", "b"}, Input: "big"},
		`{"many":[{},{"on":7}]}`:                {Type: "bool_type", Loc: []any{"body", "many", 1, "on"}, Input: json.Number("7")},
		`[]`:                                    {Type: "model_attributes_type", Loc: []any{"body"}, Input: []any{}},
	} {
		var out form
		v, ok := errors.AsType[schema.Violations](rest.Decode([]byte(body), &out, "body"))
		if !ok || len(v) != 1 {
			t.Errorf("%s: %v", body, v)
			continue
		}
		v[0].Msg = ""
		if d := cmp.Diff(want, v[0]); d != "" {
			t.Errorf("%s (-want +got):\n%s", body, d)
		}
	}
}
