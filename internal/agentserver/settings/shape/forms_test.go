package shape_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/internal/agentserver/rest"
	"github.com/deft-dev/deft/internal/agentserver/settings/shape"
)

// TestForms holds the places and types of violations, and what values become.
func TestForms(t *testing.T) {
	t.Parallel()
	named := &shape.Object{Fields: []shape.Field{{Name: "name", Type: shape.String{}, Required: true}}}
	kinds := shape.Kinds{Default: "A", Mark: "name", Order: []string{"A"}, Of: map[string]*shape.Object{"A": named}}
	guarded := shape.Guarded{Of: shape.Bool{}, First: func(v any) error {
		if v == "no" {
			return rest.Violations{{Type: "assertion_error"}}
		}
		return nil
	}}
	tagged := shape.Tagged{Key: "type", Order: []string{"a"}, Of: map[string]*shape.Object{"a": named}}
	for _, c := range []struct {
		of    shape.Type
		value string
		want  string // the value, or the violations
	}{
		{shape.Choice{"a", "b"}, `"b"`, `"b"`},
		{shape.Choice{"a", "b"}, `"c"`, "enum [at]"},
		{shape.UUID{}, `"{00C99065-5476-42c1-b1a4-c565ba69dbbe}"`, `"00c99065547642c1b1a4c565ba69dbbe"`},
		{shape.UUID{}, `"00"`, "uuid_parsing [at]"},
		{shape.UUID{}, `5`, "uuid_type [at]"},
		{guarded, `"on"`, `true`},
		{guarded, `"no"`, "assertion_error [at]"},
		{guarded, `[]`, "bool_type [at]"},
		{shape.Bool{}, `1.0`, `true`},
		{shape.Bool{}, `2`, "bool_parsing [at]"},
		{shape.Bool{}, `0.5`, "bool_type [at]"},
		{shape.OneOf{{"Flag", shape.Bool{}}, {"Id", shape.UUID{}}}, `"00c99065547642c1b1a4c565ba69dbbe"`, `"00c99065547642c1b1a4c565ba69dbbe"`},
		{shape.OneOf{{"Flag", shape.Bool{}}, {"Id", shape.UUID{}}}, `[]`, "bool_type [at Flag] uuid_type [at Id]"},
		{kinds, `{"kind":"A","name":"n"}`, `{"name":"n"}`},
		{kinds, `{"kind":null,"name":"n"}`, `{"name":"n"}`},
		{kinds, `{"kind":"A"}`, "missing [at name]"},
		{kinds, `{}`, "value_error [at]"},
		{kinds, `{"kind":"B","name":"n"}`, "value_error [at]"},
		{kinds, `{"kind":["A"],"name":"n"}`, "value_error [at]"},
		{kinds, `5`, "model_attributes_type [at]"},
		{tagged, `{"type":"a"}`, "missing [at a name]"},
		{tagged, `{}`, "union_tag_not_found [at]"},
		{tagged, `{"type":null}`, "union_tag_invalid [at]"},
	} {
		v, err := shape.Parse([]byte(c.value))
		if err != nil {
			t.Fatal(err)
		}
		out, err := shape.Check(c.of, v, shape.Reading{}, "at")
		got := ""
		if bad, ok := errors.AsType[rest.Violations](err); ok {
			for i, one := range bad {
				if i > 0 {
					got += " "
				}
				got += fmt.Sprint(one.Type, " ", one.Loc)
			}
		} else {
			raw, err := shape.Encode(out)
			if err != nil {
				t.Fatal(err)
			}
			got = string(raw)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%T, %s (-want +got):\n%s", c.of, c.value, d)
		}
	}
}

// TestManyViolations stops looking once there is enough to tell.
func TestManyViolations(t *testing.T) {
	t.Parallel()
	var list []any
	wrong := shape.NewMap()
	for i := range 3 * rest.MostTold {
		list = append(list, json.Number("1"))
		wrong.Set(fmt.Sprint("k", i), json.Number("1"))
	}
	for name, c := range map[string]struct {
		of shape.Type
		v  any
	}{
		"a list": {shape.List{Of: shape.String{}}, list}, "values": {shape.Dict{Of: shape.String{}}, wrong},
		"keys": {&shape.Object{Extra: shape.Forbid}, wrong},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			form := &shape.Object{Fields: []shape.Field{{Name: "at", Type: c.of}}}
			_, err := form.Check(shape.Of("at", c.v), shape.Reading{}, "body")
			var bad rest.Violations
			if !errors.As(err, &bad) || len(bad) != rest.MostTold {
				t.Errorf("%d violations", len(bad))
			}
		})
	}
}
