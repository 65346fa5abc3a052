package spec

import (
	"cmp"
	_ "embed" // for the files below
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	s "github.com/deft-dev/deft/schema"
)

// contract has one line for each schema of the reference: its name, a tab, and
// its facts (test/openapi/contract.py writes it).
//
//go:embed contract.jsonl
var contract string

// descriptions has the descriptions of fields on settings pages, one per line.
//
//go:embed descriptions.txt
var descriptions string

// Reference returns the description of an object as the reference's contract has
// it. The fields of o go before the contract: its name, its hooks, and the
// treatment of unknown fields, unless that is the default. Fields take the place
// of the contract's in everything that they set; new ones come last. Other schemas
// that refer to the name get this description. The contract is read at the first
// use, so that programs that use no schema do not pay for it. Call it while
// packages are initialized only. A name that is not in the contract panics at the
// first use; a test makes all of them.
func Reference(name string, o s.Object, fields ...s.Field) *s.Object {
	return Define(name, Variant(name, o, fields...))
}

// Variant is [Reference] for a description that other schemas do not refer to.
func Variant(name string, o s.Object, fields ...s.Field) *s.Object {
	o.Name = cmp.Or(o.Name, name)
	node := sync.OnceValue(func() *s.Map { return schemaOf(name) })
	o.Lazy = sync.OnceValue(func() *s.Object {
		full := o
		full.Lazy, full.Fields = nil, fieldsOf(name, node(), fields)
		switch extra, _ := node().Lookup("additionalProperties"); {
		case o.Extra != s.Drop:
		case extra == false:
			full.Extra = s.Forbid
		case extra == true:
			full.Extra = s.Keep
		}
		return &full
	})
	return &o
}

// defined are the descriptions that Go code gave; made come from the contract
// alone.
var (
	defined = map[string]s.Type{}
	made    sync.Map // name → s.Type
)

// Define makes t the description that schemas of the contract refer to by a
// name, and returns it.
func Define[T s.Type](name string, t T) T {
	defined[name] = t
	return t
}

var (
	lines = sync.OnceValue(func() map[string]string { return table(contract, "\t") })
	helps = sync.OnceValue(func() map[string]string { return table(descriptions, " ") })
)

// table returns the rest of each line, by the first word.
func table(text, sep string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(text) {
		name, rest, _ := strings.Cut(line, sep)
		out[name] = strings.TrimSpace(rest)
	}
	return out
}

func schemaOf(name string) *s.Map {
	v, err := s.Parse([]byte(lines()[name]))
	if err != nil {
		panic(fmt.Sprintf("spec: %q in the contract: %v", name, err))
	}
	m, _ := v.(*s.Map)
	return m
}

// Referred returns the type of a schema of the contract by its name.
func Referred(name string) s.Type {
	if t, ok := defined[name]; ok {
		return t
	}
	if t, ok := made.Load(name); ok {
		known, _ := t.(s.Type)
		return known
	}
	var t s.Type
	switch m := schemaOf(name); {
	case m.Object("properties") != nil || m.Text("type") == "object" && m.Get("additionalProperties") == nil:
		t = Variant(name, s.Object{})
	case m.Get("enum") != nil:
		t = s.Choice(texts(m.Get("enum")))
	default:
		t = typeOf(m)
	}
	made.Store(name, t)
	return t
}

func fieldsOf(name string, m *s.Map, changes []s.Field) []s.Field {
	required := texts(m.Get("required"))
	properties := m.Object("properties")
	var out []s.Field
	for _, key := range properties.Keys() {
		node := properties.Object(key)
		f := s.Field{Name: key, Type: typeOf(node), Required: slices.Contains(required, key)}
		f.Default = defaultOf(node, f.Type)
		if p := node.Object("page"); p != nil {
			f.Page = &s.Page{
				Label: p.Text("label"), Prominence: p.Text("prominence"), DependsOn: texts(p.Get("depends_on")),
				Description: helps()[name+"."+key],
			}
		}
		out = append(out, f)
	}
	for _, c := range changes {
		i := slices.IndexFunc(out, func(f s.Field) bool { return f.Name == c.Name })
		if i < 0 {
			out = append(out, c)
			continue
		}
		f := &out[i]
		if c.Type != nil {
			f.Type, f.Default = c.Type, defaultOf(properties.Object(c.Name), c.Type)
		}
		if c.Default != nil {
			f.Default, f.Required = c.Default, false
		}
		f.Required, f.Hidden = f.Required || c.Required, c.Hidden
	}
	return out
}

// typeOf returns the type that a schema of the contract describes.
func typeOf(m *s.Map) s.Type {
	if name := m.Text("$ref"); name != "" {
		return Referred(name)
	}
	if choices, ok := m.Get("anyOf").([]any); ok {
		return anyOf(choices)
	}
	if choices, ok := m.Get("oneOf").([]any); ok {
		return oneOf(choices, m.Text("discriminator"))
	}
	if one, ok := m.Get("const").(string); ok {
		return s.Enum{one}
	}
	if list := texts(m.Get("enum")); list != nil {
		return s.Enum(list)
	}
	switch m.Text("type") {
	case "string":
		return stringOf(m)
	case "integer":
		return s.Int{Bounds: boundsOf(m)}
	case "number":
		return s.Number{Bounds: boundsOf(m)}
	case "boolean":
		return s.Bool{}
	case "array":
		items := m.Object("items")
		return s.List{Of: typeOf(items)}
	case "object":
		return dictOf(m)
	}
	return s.Any{}
}

func stringOf(m *s.Map) s.Type {
	switch m.Text("format") {
	case "uuid":
		return s.UUID{}
	case "password":
		return s.Secret{}
	}
	t := s.String{Min: intOf(m.Get("minLength")), Max: intOf(m.Get("maxLength"))}
	if p := m.Text("pattern"); p != "" {
		t.Pattern = regexp.MustCompile(p)
	}
	return t
}

func dictOf(m *s.Map) s.Type {
	values := m.Object("additionalProperties")
	if values == nil {
		return s.Dict{Of: s.Any{}}
	}
	if of := typeOf(values); of != (s.Type)(s.Secret{}) {
		return s.Dict{Of: of}
	}
	return s.Secrets{}
}

// anyOf returns a choice of types. A secret is one as well where a plain text is
// taken, and any text is taken for a date.
func anyOf(choices []any) s.Type {
	var types s.OneOf
	null := false
	for _, c := range choices {
		m, _ := c.(*s.Map)
		switch {
		case m.Text("type") == "null":
			null = true
		case m.Text("format") == "password":
			types = s.OneOf{{Of: s.Secret{}}}
		case m.Text("format") == "date-time":
		default:
			types = append(types, s.Named{Name: nameOf(m), Of: typeOf(m)})
		}
	}
	var t s.Type = types
	if len(types) == 1 {
		t = types[0].Of
	}
	if null {
		return s.Opt(t)
	}
	return t
}

// nameOf is the name of a type in the locations of violations.
func nameOf(m *s.Map) string {
	if name := m.Text("$ref"); name != "" {
		return name
	}
	switch t := m.Text("type"); t {
	case "string":
		return "str"
	case "boolean":
		return "bool"
	case "array":
		return "list[" + nameOf(m.Object("items")) + "]"
	default:
		return t
	}
}

// oneOf returns the objects that are told apart by a field. Where that is
// "kind", its values are the names of the schemas.
func oneOf(choices []any, field string) s.Type {
	of, order := map[string]*s.Object{}, []string{}
	for _, c := range choices {
		m, _ := c.(*s.Map)
		name := m.Text("$ref")
		tags := []string{name}
		if field != "kind" {
			node := schemaOf(name).Object("properties").Object(field)
			if tags = texts(node.Get("enum")); tags == nil {
				tags = []string{node.Text("const")}
			}
		}
		for _, tag := range tags {
			of[tag], _ = Referred(name).(*s.Object)
			order = append(order, tag)
		}
	}
	return s.Tagged{Key: field, Of: of, Order: order}
}

func boundsOf(m *s.Map) s.Bounds {
	limit := func(key string) *float64 {
		n, ok := m.Get(key).(json.Number)
		if f, err := n.Float64(); ok && err == nil {
			return &f
		}
		return nil
	}
	return s.Bounds{GE: limit("minimum"), GT: limit("exclusiveMinimum"), LE: limit("maximum"), LT: limit("exclusiveMaximum")}
}

func intOf(v any) int {
	n, err := whole(v)
	if v == nil || err != nil {
		return 0
	}
	return n
}

// defaultOf returns the value of an absent field: the contract's, else an empty
// value, where the type has one.
func defaultOf(m *s.Map, t s.Type) any {
	v, ok := m.Lookup("default")
	if n, isNumber := v.(json.Number); isNumber {
		if _, isFloat := s.Bare(t).(s.Number); isFloat {
			if f, err := n.Float64(); err == nil {
				return s.Float(f)
			}
		}
	}
	if ok {
		return v
	}
	switch t := t.(type) {
	case s.List:
		return []any{}
	case s.Dict, s.Secrets, s.Sources:
		return func() any { return s.NewMap() }
	case *s.Object:
		return t
	case s.Tagged:
		if o := t.Of[t.Default]; o != nil {
			return o
		}
	}
	return nil
}

func texts(v any) []string {
	list, _ := v.([]any)
	var out []string
	for _, e := range list {
		if text, ok := e.(string); ok {
			out = append(out, text)
		}
	}
	return out
}
