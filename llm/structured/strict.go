package structured

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/deft-dev/deft/internal/fault"
)

// Strict returns the schema as OpenAI's strict mode takes it
// (https://platform.openai.com/docs/guides/structured-outputs): every property
// is required, those that were not may be null, and objects are closed. It
// keeps the order of properties. Check takes the nulls out again. A schema with
// an open object, which strict mode has no form for, gives an error of kind
// Unsupported.
func Strict(schema json.RawMessage) (json.RawMessage, error) {
	root := gjson.ParseBytes(schema)
	if !gjson.ValidBytes(schema) || !root.IsObject() {
		return nil, fault.New(fault.Invalid, "the schema is not a JSON object")
	}
	return strict(nil, root, false, 0)
}

// notStrict are keywords that strict mode refuses or that say nothing in it.
var notStrict = []string{"default", "title", "examples", "$schema", "$id", "required", "additionalProperties", "properties", "patternProperties", "unevaluatedProperties", "minProperties", "maxProperties"}

// strict appends the strict form of one schema.
func strict(dst []byte, s gjson.Result, nullable bool, depth int) ([]byte, error) {
	if depth > deepest {
		return nil, fault.New(fault.Invalid, "the schema is nested too deeply")
	}
	if nullable && (s.Get(`\$ref`).Exists() || s.Get("anyOf").Exists() || s.Get("const").Exists() || !s.Get("type").Exists()) {
		// No type to add null to.
		dst = append(dst, `{"anyOf":[`...)
		dst, err := strict(dst, s, false, depth+1)
		return append(dst, `,{"type":"null"}]}`...), err
	}
	object := s.Get("properties").IsObject() || isType(s, "object")
	if object && (!s.Get("properties").IsObject() || s.Get("additionalProperties").IsObject() || s.Get("additionalProperties").Type == gjson.True) {
		return nil, fault.New(fault.Unsupported, "strict mode has no form for objects of any properties")
	}
	dst = append(dst, '{')
	comma := func() {
		if dst[len(dst)-1] != '{' {
			dst = append(dst, ',')
		}
	}
	var err error
	s.ForEach(func(key, v gjson.Result) bool {
		if slices.Contains(notStrict, key.Str) {
			return true
		}
		comma()
		dst = append(append(dst, key.Raw...), ':')
		dst, err = strictKeyword(dst, key.Str, v, nullable, depth)
		return err == nil
	})
	if err == nil && object {
		comma()
		dst, err = strictProperties(dst, s, depth)
	}
	return append(dst, '}'), err
}

func isType(s gjson.Result, name string) bool {
	return slices.ContainsFunc(s.Get("type").Array(), func(t gjson.Result) bool { return t.Str == name })
}

// strictKeyword appends the value of one keyword.
func strictKeyword(dst []byte, key string, v gjson.Result, nullable bool, depth int) ([]byte, error) {
	var err error
	switch {
	case key == "type" && nullable:
		return appendNull(dst, v, `"null"`), nil
	case key == "enum" && nullable:
		return appendNull(dst, v, "null"), nil
	case key == "items" && v.IsObject():
		return strict(dst, v, false, depth+1)
	case (key == "anyOf" || key == "allOf" || key == "oneOf") && v.IsArray():
		dst = append(dst, '[')
		for i, variant := range v.Array() {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = strict(dst, variant, false, depth+1); err != nil {
				return nil, err
			}
		}
		return append(dst, ']'), nil
	case (key == "$defs" || key == "definitions") && v.IsObject():
		return strictEach(dst, v, depth, func(string) bool { return false })
	}
	return append(dst, v.Raw...), nil
}

// appendNull appends a value, or a list of values, with null among them.
func appendNull(dst []byte, v gjson.Result, null string) []byte {
	dst = append(dst, '[')
	for _, t := range v.Array() {
		if t.Raw != null {
			dst = append(append(dst, t.Raw...), ',')
		}
	}
	return append(append(dst, null...), ']')
}

// strictProperties appends the keywords of an object.
func strictProperties(dst []byte, s gjson.Result, depth int) ([]byte, error) {
	required := map[string]bool{}
	for _, r := range s.Get("required").Array() {
		required[r.Str] = true
	}
	properties := s.Get("properties")
	dst, err := strictEach(append(dst, `"properties":`...), properties, depth, func(name string) bool { return !required[name] })
	if err != nil {
		return nil, err
	}
	var names []string
	properties.ForEach(func(name, _ gjson.Result) bool {
		names = append(names, name.Raw)
		return true
	})
	return append(dst, `,"required":[`+strings.Join(names, ",")+`],"additionalProperties":false`...), nil
}

// strictEach appends an object of schemas by name.
func strictEach(dst []byte, schemas gjson.Result, depth int, nullable func(string) bool) ([]byte, error) {
	dst = append(dst, '{')
	var err error
	schemas.ForEach(func(name, s gjson.Result) bool {
		if dst[len(dst)-1] != '{' {
			dst = append(dst, ',')
		}
		dst = append(append(dst, name.Raw...), ':')
		dst, err = strict(dst, s, nullable(name.Str), depth+1)
		return err == nil
	})
	return append(dst, '}'), err
}
