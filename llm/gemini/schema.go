package gemini

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/deft-dev/deft/internal/memo"
)

// maxDepth limits the nesting of a schema; deeper parts become plain objects.
// Recursive references end there, too.
const maxDepth = 24

// CleanSchema converts a JSON schema to the subset of the API
// (https://ai.google.dev/api/caching#Schema): local references are resolved, allOf
// is merged, oneOf becomes anyOf, types are single with a separate nullable, enums
// contain strings only, and unsupported keywords and formats are removed. Values
// of an enum of numbers are added to the description. The result is nil for a
// schema without requirements: the API refuses objects without properties as
// parameters. Malformed JSON is an error.
func CleanSchema(schema json.RawMessage) (json.RawMessage, error) {
	if len(schema) == 0 {
		return nil, nil
	}
	var root any
	if err := json.Unmarshal(schema, &root); err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	object, ok := root.(map[string]any)
	if !ok {
		return nil, nil
	}
	c := cleaner{root: object, budget: maxNodes}
	out := c.node(object, 0)
	if props, _ := out["properties"].(map[string]any); out["type"] == "object" && len(props) == 0 {
		return nil, nil
	}
	b, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("write schema: %w", err)
	}
	return b, nil
}

// cleaned keeps converted schemas: agents offer the same tools with every call.
var cleaned = memo.New[string, json.RawMessage](512)

func cleanSchema(schema json.RawMessage) (json.RawMessage, error) {
	return cleaned.Get(string(schema), func() (json.RawMessage, error) { return CleanSchema(schema) })
}

// maxNodes limits the size of the result: references multiply.
const maxNodes = 20_000

type cleaner struct {
	root   map[string]any
	budget int
}

// plain are the keywords that are copied unchanged.
var plain = []string{
	"title", "description", "nullable", "minItems", "maxItems", "minProperties", "maxProperties",
	"minLength", "maxLength", "pattern", "minimum", "maximum", "default",
}

// formats are the supported formats, by type.
var formats = map[string][]string{
	"string": {"enum", "date-time"}, "number": {"float", "double"}, "integer": {"int32", "int64"},
}

func (c *cleaner) node(in map[string]any, depth int) map[string]any {
	if c.budget--; depth > maxDepth || c.budget < 0 {
		return map[string]any{"type": "object"}
	}
	in = c.resolve(in)
	out := map[string]any{}
	for _, k := range plain {
		if v, ok := in[k]; ok && v != nil {
			out[k] = v
		}
	}
	types := typesOf(in, out)
	if variants := c.variants(in, types, out, depth); variants != nil {
		return variants
	}
	kind := "string"
	if len(types) > 0 {
		kind = types[0]
	}
	out["type"] = kind
	c.enum(in, out, kind)
	if f, ok := in["format"].(string); ok && slices.Contains(formats[kind], f) {
		out["format"] = f
	}
	switch kind {
	case "object":
		c.object(in, out, depth)
	case "array":
		out["items"] = c.items(in, depth)
	}
	return out
}

// resolve follows a local reference and merges allOf into the schema.
func (c *cleaner) resolve(in map[string]any) map[string]any {
	for range maxDepth {
		ref, isRef := in["$ref"].(string)
		all, isAll := in["allOf"].([]any)
		if !isRef && !isAll {
			return in
		}
		merged := map[string]any{}
		if isRef {
			merge(merged, c.find(ref))
		}
		for _, s := range all {
			if m, ok := s.(map[string]any); ok {
				if r, ok := m["$ref"].(string); ok {
					m = c.find(r)
				}
				merge(merged, m)
			}
		}
		own := maps.Clone(in)
		delete(own, "$ref")
		delete(own, "allOf")
		merge(merged, own)
		in = merged
	}
	// The reference is recursive.
	return map[string]any{"type": "object"}
}

// merge overrides to by from; properties and required are combined.
func merge(to, from map[string]any) {
	for k, v := range from {
		switch old := to[k].(type) {
		case map[string]any:
			if m, ok := v.(map[string]any); ok && k == "properties" {
				united := maps.Clone(old)
				maps.Copy(united, m)
				v = united
			}
		case []any:
			if l, ok := v.([]any); ok && k == "required" {
				v = slices.Concat(old, l)
			}
		}
		to[k] = v
	}
}

// find resolves a reference such as #/$defs/Name; an unknown one gives an empty
// object.
func (c *cleaner) find(ref string) map[string]any {
	path, ok := strings.CutPrefix(ref, "#")
	at := c.root
	if !ok {
		return map[string]any{"type": "object"}
	}
	for step := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		if step == "" {
			continue
		}
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		next, ok := at[step].(map[string]any)
		if !ok {
			return map[string]any{"type": "object"}
		}
		at = next
	}
	return at
}

// typesOf returns the types of a schema, given or derived from its keywords,
// without null, which sets nullable in out.
func typesOf(in, out map[string]any) []string {
	var types []string
	add := func(v any) {
		switch s, ok := v.(string); {
		case !ok:
		case strings.EqualFold(s, "null"):
			out["nullable"] = true
		case !slices.Contains(types, strings.ToLower(s)):
			types = append(types, strings.ToLower(s))
		}
	}
	if list, ok := in["type"].([]any); ok {
		for _, t := range list {
			add(t)
		}
	} else {
		add(in["type"])
	}
	if len(types) > 0 {
		return types
	}
	for keyword, kind := range map[string]string{"properties": "object", "additionalProperties": "object", "items": "array", "prefixItems": "array"} {
		if _, ok := in[keyword]; ok && !slices.Contains(types, kind) {
			types = append(types, kind)
		}
	}
	slices.Sort(types) // the map has no order
	return slices.Clip(types[:min(len(types), 1)])
}

// variants converts a schema with alternatives, or returns nil. The API
// supports no other keyword beside anyOf, so the others are copied into each
// alternative.
func (c *cleaner) variants(in map[string]any, types []string, out map[string]any, depth int) map[string]any {
	var forms []map[string]any
	for _, key := range []string{"anyOf", "oneOf"} {
		list, _ := in[key].([]any)
		for _, v := range list {
			s, ok := v.(map[string]any)
			if !ok {
				continue
			}
			if isNull(s) {
				out["nullable"] = true
				continue
			}
			forms = append(forms, s)
		}
	}
	if len(forms) == 0 && len(types) > 1 {
		for _, t := range types {
			form := maps.Clone(in)
			form["type"] = t
			forms = append(forms, form)
		}
	}
	if len(forms) == 0 {
		return nil
	}
	// Alternatives that differ only in required properties are one object.
	if _, ok := in["properties"]; ok && len(types) < 2 {
		return nil
	}
	var alternatives []any
	for _, f := range forms {
		one := c.node(f, depth+1)
		for _, k := range []string{"description", "nullable"} {
			if v, ok := out[k]; ok && one[k] == nil {
				one[k] = v
			}
		}
		alternatives = append(alternatives, one)
	}
	if len(alternatives) == 1 {
		return alternatives[0].(map[string]any)
	}
	return map[string]any{"anyOf": alternatives}
}

func isNull(s map[string]any) bool {
	if s["type"] == "null" {
		return true
	}
	v, ok := s["const"]
	return ok && v == nil
}

// enum keeps the values of an enum of strings; others are added to the
// description.
func (c *cleaner) enum(in, out map[string]any, kind string) {
	values, _ := in["enum"].([]any)
	if v, ok := in["const"]; ok {
		values = []any{v}
	}
	var texts, others []string
	for _, v := range values {
		switch v := v.(type) {
		case string:
			texts = append(texts, v)
		case nil:
			out["nullable"] = true
		default:
			others = append(others, fmt.Sprint(v))
		}
	}
	if kind == "string" && len(others) == 0 && len(texts) > 0 && !slices.Contains(texts, "") {
		out["enum"] = texts
		return
	}
	if others = append(others, texts...); len(others) > 0 {
		was, _ := out["description"].(string)
		out["description"] = strings.TrimSpace(was + " One of: " + strings.Join(others, ", ") + ".")
	}
}

func (c *cleaner) object(in, out map[string]any, depth int) {
	props, _ := in["properties"].(map[string]any)
	if len(props) == 0 {
		return
	}
	fields := make(map[string]any, len(props))
	for _, name := range slices.Sorted(maps.Keys(props)) { // the same budget each time
		s, _ := props[name].(map[string]any)
		fields[name] = c.node(s, depth+1)
	}
	out["properties"] = fields
	var required []string
	list, _ := in["required"].([]any)
	for _, v := range list {
		if name, ok := v.(string); ok && fields[name] != nil && !slices.Contains(required, name) {
			required = append(required, name)
		}
	}
	if required != nil {
		out["required"] = required
	}
}

// items is the schema of an array's items, which the API requires.
func (c *cleaner) items(in map[string]any, depth int) map[string]any {
	switch v := in["items"].(type) {
	case map[string]any:
		return c.node(v, depth+1)
	case []any:
		return c.node(map[string]any{"anyOf": v}, depth+1)
	}
	if v, ok := in["prefixItems"].([]any); ok && len(v) > 0 {
		return c.node(map[string]any{"anyOf": v}, depth+1)
	}
	return map[string]any{"type": "string"}
}
