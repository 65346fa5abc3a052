package schema_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/internal/keyring"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/schema"
)

func parse(t *testing.T, raw string) any {
	t.Helper()
	v, err := schema.Parse([]byte(raw))
	must.Succeed(t, err)
	return v
}

func encode(t *testing.T, v any) string {
	t.Helper()
	raw, err := schema.Encode(v)
	must.Succeed(t, err)
	return string(raw)
}

func TestOrderAndNumbersAreKept(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		`{"b":1,"a":{"z":null,"y":[1.50,"<é>",true]},"c":123456789012345678901234567890}`, `[]`, `"x"`, `{"":{}}`,
	} {
		if got := encode(t, parse(t, raw)); got != raw {
			t.Errorf("%s became %s", raw, got)
		}
	}
	for _, raw := range []string{``, `{`, `{"a" 1}`, `[1,]`, `1 2`, `{"a":1}}`, strings.Repeat("[", 200)} {
		if _, err := schema.Parse([]byte(raw)); err == nil {
			t.Errorf("%.20s is no JSON", raw)
		}
	}
}

func TestMerge(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ base, patch, merged, fields string }{
		{`{"a":1,"b":{"c":2,"d":3}}`, `{"b":{"c":null,"e":4},"f":5}`, `{"a":1,"b":{"d":3,"e":4},"f":5}`, `{"a":1,"b":{"d":3,"e":4},"f":5}`},
		{`{"a":1}`, `{"a":null,"b":{"c":null}}`, `{"b":{"c":null}}`, `{"a":null,"b":{"c":null}}`},
		{`{"a":[1,2]}`, `{"a":[3]}`, `{"a":[3]}`, `{"a":[3]}`},
		{`{"a":{"b":1}}`, `{"a":5}`, `{"a":5}`, `{"a":5}`},
	} {
		base, _ := parse(t, c.base).(*schema.Map)
		patch, _ := parse(t, c.patch).(*schema.Map)
		if got := encode(t, schema.Merge(base, patch)); got != c.merged {
			t.Errorf("%s + %s = %s", c.base, c.patch, got)
		}
		if got := encode(t, schema.MergeFields(base, patch)); got != c.fields {
			t.Errorf("fields: %s + %s = %s", c.base, c.patch, got)
		}
		if got := encode(t, base); got != c.base {
			t.Errorf("the base was changed to %s", got)
		}
	}
}

var zero = 0.0

var thing = &schema.Object{Name: "thing", Fields: []schema.Field{
	{Name: "name", Type: schema.String{Min: 1, Max: 3}, Required: true},
	{Name: "n", Type: schema.Int{Bounds: schema.Bounds{GE: &zero}}, Default: schema.Count(7)},
	{Name: "f", Type: schema.Opt(schema.Number{})},
	{Name: "on", Type: schema.Bool{}, Default: true},
	{Name: "kind", Type: schema.Enum{"a", "b", "c"}, Default: "a"},
	{Name: "list", Type: schema.List{Of: schema.OneOf{{Name: "bool", Of: schema.Bool{}}, {Name: "str", Of: schema.String{}}}}, Default: []any{}},
	{Name: "key", Type: schema.Opt(schema.Secret{})},
	{Name: "env", Type: schema.Secrets{}, Default: func() any { return schema.NewMap() }},
	{Name: "headers", Type: schema.Headers, Default: func() any { return schema.NewMap() }},
	{Name: "hidden", Type: schema.Any{}, Hidden: true},
}}

func TestCheckFillsInAndConverts(t *testing.T) {
	t.Parallel()
	m, err := thing.Check(parse(t, `{"unknown":1,"f":3,"on":"yes","n":"5","name":"x","list":["s",true]}`), schema.Reading{})
	must.Succeed(t, err)
	out, err := thing.Dump(m, schema.Writing{})
	want := `{"name":"x","n":5,"f":3.0,"on":true,"kind":"a","list":["s",true],"key":null,"env":{},"headers":{}}`
	if got := encode(t, out); got != want || err != nil {
		t.Errorf("%s\n%s", got, want)
	}
}

func TestViolations(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`{}`:                            `missing ["body","name"]`,
		`5`:                             `model_attributes_type ["body"]`,
		`{"name":""}`:                   `string_too_short ["body","name"]`,
		`{"name":"abcd"}`:               `string_too_long ["body","name"]`,
		`{"name":"x","n":-1}`:           `greater_than_equal ["body","n"]`,
		`{"name":"x","n":1.5}`:          `int_from_float ["body","n"]`,
		`{"name":"x","n":[]}`:           `int_type ["body","n"]`,
		`{"name":"x","f":"z"}`:          `float_parsing ["body","f"]`,
		`{"name":"x","on":null}`:        `bool_type ["body","on"]`,
		`{"name":"x","kind":"z"}`:       `literal_error ["body","kind"]`,
		`{"name":"x","list":[true,{}]}`: `bool_type ["body","list",1,"bool"]`,
		`{"name":"x","env":{"A":5}}`:    `string_type ["body","env","A"]`,
		`{"name":"x","headers":5}`:      `dict_type ["body","headers"]`,
	} {
		_, err := thing.Check(parse(t, raw), schema.Reading{}, "body")
		var bad schema.Violations
		if !errors.As(err, &bad) {
			t.Errorf("%s: %v", raw, err)
			continue
		}
		loc, _ := json.Marshal(bad[0].Loc)
		if got := bad[0].Type + " " + string(loc); got != want {
			t.Errorf("%s: %s, want %s", raw, got, want)
		}
	}
}

func TestModesOfSecrets(t *testing.T) {
	t.Parallel()
	ring, other := keyring.New("k"), keyring.New("other")
	m, err := thing.Check(parse(t, `{"name":"x","key":"s1","env":{"A":"s2","B":" "},"headers":{"X-Token":"s3","X-Plain":"p"}}`), schema.Reading{})
	must.Succeed(t, err)
	part := func(how schema.Writing) string {
		t.Helper()
		out, err := thing.Dump(m, how)
		must.Succeed(t, err)
		return encode(t, schema.Of("key", out.Get("key"), "env", out.Get("env"), "headers", out.Get("headers")))
	}
	for mode, want := range map[schema.Mode]string{
		schema.Masked: `{"key":"**********","env":{"A":"**********"},"headers":{"X-Token":"**********","X-Plain":"p"}}`,
		schema.Plain:  `{"key":"s1","env":{"A":"s2"},"headers":{"X-Token":"s3","X-Plain":"p"}}`,
		schema.Nulled: `{"key":null,"env":{},"headers":{"X-Plain":"p"}}`,
	} {
		if got := part(schema.Writing{Mode: mode}); got != want {
			t.Errorf("%d: %s", mode, got)
		}
	}
	sealed, err := thing.Dump(m, schema.Writing{Mode: schema.Sealed, Keys: ring})
	if text := encode(t, sealed); err != nil || strings.Contains(text, `"s1"`) || strings.Contains(text, `"s2"`) || strings.Contains(text, `"s3"`) {
		t.Errorf("sealed: %s %v", text, err)
	}
	back, err := thing.Check(sealed, schema.Reading{Keys: ring, Strict: true})
	if diff := cmp.Diff(encode(t, m), encode(t, back)); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	if _, err := thing.Check(sealed, schema.Reading{Keys: other, Strict: true}); !errors.Is(err, schema.ErrSealed) {
		t.Errorf("another key: %v", err)
	}
	if m, err := thing.Check(sealed, schema.Reading{Keys: other}); err != nil || m.Get("key") != nil {
		t.Errorf("another key, not strict: %v", err)
	}
	turned := keyring.New("new", "k")
	if !schema.Stale(turned, sealed) || schema.Stale(ring, sealed) {
		t.Error("what is stale")
	}
	renewed, err := schema.Renew(turned, sealed)
	if err != nil || schema.Stale(turned, renewed) {
		t.Errorf("renew: %v", err)
	}
	if _, err := schema.Renew(other, sealed); !errors.Is(err, schema.ErrSealed) {
		t.Errorf("renew with another key: %v", err)
	}
}

func TestARingWithoutAKey(t *testing.T) {
	t.Parallel()
	m, err := thing.Check(parse(t, `{"name":"x","key":"gAAAAAnot-ours"}`), schema.Reading{Keys: keyring.New("")})
	if err != nil || m.Text("key") != "gAAAAAnot-ours" {
		t.Errorf("%v %v", m, err)
	}
	if _, err := thing.Dump(m, schema.Writing{Mode: schema.Sealed, Keys: keyring.New("")}); !errors.Is(err, schema.ErrNoKey) {
		t.Errorf("sealed without a key: %v", err)
	}
}

func TestStructs(t *testing.T) {
	t.Parallel()
	type inner struct {
		F float64 `json:"f"`
	}
	type outer struct {
		A    string           `json:"a"`
		P    *int             `json:"p"`
		In   inner            `json:"in"`
		F    float64          `json:"f"`
		List []inner          `json:"list"`
		M    map[string]inner `json:"m"`
		Raw  json.RawMessage  `json:"raw"`
		Any  map[string]any   `json:"any"`
		Doc  *schema.Map      `json:"doc"`
		Off  string           `json:"-"`
	}
	m, err := schema.From(&outer{A: "x", In: inner{2}, F: 3, M: map[string]inner{"q": {1}}, Raw: json.RawMessage(`[{"r":1}]`), Any: map[string]any{"k": []int{1}}, Doc: schema.Of("z", 1, "y", nil)})
	if got, want := encode(t, m), `{"a":"x","p":null,"in":{"f":2},"f":3.0,"list":null,"m":{"q":{"f":1}},"raw":[{"r":1}],"any":{"k":[1]},"doc":{"z":1,"y":null}}`; err != nil || got != want {
		t.Errorf("%s %v", got, err)
	}
	var back outer
	if err := schema.Into(m, &back); err != nil || back.In.F != 2 || back.Doc.Len() != 2 || back.M["q"].F != 1 || string(back.Raw) != `[{"r":1}]` {
		t.Errorf("%+v %v", back, err)
	}
	if err := schema.Into(schema.Of("A", "other", "List", 5, "a", nil), &back); err != nil || back.A != "x" {
		t.Errorf("keys that are no field's to the letter: %+v %v", back, err)
	}
	if diff := cmp.Diff(map[string]any{"k": []any{1.0}}, back.Any); diff != "" {
		t.Error(diff)
	}
	for _, raw := range []string{`{"a":1}`, `{"in":5}`, `{"list":{}}`, `{"p":1.5}`, `{"doc":[]}`, `{"m":{"q":[]}}`, `{"p":"x"}`} {
		doc, _ := parse(t, raw).(*schema.Map)
		if err := schema.Into(doc, &back); err == nil {
			t.Errorf("%s fits", raw)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{`{"a":[1,{"b":null}]}`, `"\ud800"`, `{"a":1,"a":2}`, `-0.0e5`, "\xff", `[[[[`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		v, err := schema.Parse(raw)
		if err != nil {
			if json.Valid(raw) && bytes.Count(raw, []byte("["))+bytes.Count(raw, []byte("{")) <= 128 {
				t.Fatalf("%q is JSON: %v", raw, err)
			}
			return
		}
		if !json.Valid(raw) {
			t.Fatalf("%q is no JSON", raw)
		}
		var theirs, ours any
		if err := json.Unmarshal(raw, &theirs); err != nil {
			return // a number beyond all bounds
		}
		must.Succeed(t, json.Unmarshal([]byte(encode(t, v)), &ours))
		if diff := cmp.Diff(theirs, ours); diff != "" {
			t.Fatalf("%q\n%s", raw, diff)
		}
		out := encode(t, v)
		if again := encode(t, parse(t, out)); again != out {
			t.Fatalf("%q, then %q, then %q", raw, out, again)
		}
	})
}
