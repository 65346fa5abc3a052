package schema_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/schema"
)

// TestForms holds the places and types of violations, and the resulting values.
func TestForms(t *testing.T) {
	t.Parallel()
	named := &schema.Object{Fields: []schema.Field{{Name: "name", Type: schema.String{}, Required: true}}}
	kinds := schema.Tagged{Key: "kind", Default: "A", Mark: "name", Order: []string{"A"}, Of: map[string]*schema.Object{"A": named}}
	guarded := schema.Guarded{Of: schema.Bool{}, First: func(v any) error {
		if v == "no" {
			return schema.Violations{{Type: "assertion_error"}}
		}
		return nil
	}}
	tagged := schema.Tagged{Key: "type", Order: []string{"a"}, Of: map[string]*schema.Object{"a": named}}
	for _, c := range []struct {
		of    schema.Type
		value string
		want  string // the value, or the violations
	}{
		{schema.Choice{"a", "b"}, `"b"`, `"b"`},
		{schema.Choice{"a", "b"}, `"c"`, "enum [at]"},
		{schema.UUID{}, `"{00C99065-5476-42c1-b1a4-c565ba69dbbe}"`, `"00c99065547642c1b1a4c565ba69dbbe"`},
		{schema.UUID{}, `"00"`, "uuid_parsing [at]"},
		{schema.UUID{}, `5`, "uuid_type [at]"},
		{guarded, `"on"`, `true`},
		{guarded, `"no"`, "assertion_error [at]"},
		{guarded, `[]`, "bool_type [at]"},
		{schema.Bool{}, `1.0`, `true`},
		{schema.Bool{}, `2`, "bool_parsing [at]"},
		{schema.Bool{}, `0.5`, "bool_type [at]"},
		{schema.OneOf{{"Flag", schema.Bool{}}, {"Id", schema.UUID{}}}, `"00c99065547642c1b1a4c565ba69dbbe"`, `"00c99065547642c1b1a4c565ba69dbbe"`},
		{schema.OneOf{{"Flag", schema.Bool{}}, {"Id", schema.UUID{}}}, `[]`, "bool_type [at Flag] uuid_type [at Id]"},
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
		v, err := schema.Parse([]byte(c.value))
		must.Succeed(t, err)
		out, err := schema.Check(c.of, v, schema.Reading{}, "at")
		got := ""
		if bad, ok := errors.AsType[schema.Violations](err); ok {
			for i, one := range bad {
				if i > 0 {
					got += " "
				}
				got += fmt.Sprint(one.Type, " ", one.Loc)
			}
		} else {
			raw, err := schema.Encode(out)
			must.Succeed(t, err)
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
	wrong := schema.NewMap()
	for i := range 3 * schema.MostViolations {
		list = append(list, json.Number("1"))
		wrong.Set(fmt.Sprint("k", i), json.Number("1"))
	}
	for name, c := range map[string]struct {
		of schema.Type
		v  any
	}{
		"a list": {schema.List{Of: schema.String{}}, list}, "values": {schema.Dict{Of: schema.String{}}, wrong},
		"keys": {&schema.Object{Extra: schema.Forbid}, wrong},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			form := &schema.Object{Fields: []schema.Field{{Name: "at", Type: c.of}}}
			_, err := form.Check(schema.Of("at", c.v), schema.Reading{}, "body")
			var bad schema.Violations
			if !errors.As(err, &bad) || len(bad) != schema.MostViolations {
				t.Errorf("%d violations", len(bad))
			}
		})
	}
}
