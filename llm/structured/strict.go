package structured

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/memo"
)

// StrictIf returns the strict form of a schema where that is wanted and there is one, else the
// schema itself.
func StrictIf(wanted bool, schema json.RawMessage) (json.RawMessage, bool) {
	if wanted {
		if s, err := Strict(schema); err == nil {
			return s, true
		}
	}
	return schema, false
}

// Strict returns the schema in the form of OpenAI's strict mode
// (https://platform.openai.com/docs/guides/structured-outputs): every property
// is required, optional ones are nullable, objects are closed, and unsupported
// keywords are removed. The order of properties is kept. A schema that would mean something else without such a keyword,
// or that has an open object, is an error of kind Unsupported.
func Strict(schema json.RawMessage) (json.RawMessage, error) {
	r, _ := stricts.Get(string(schema), func() (strictResult, error) { // errors are kept, too
		out, err := makeStrict(schema)
		return strictResult{out, err}, nil
	})
	return r.schema, r.err
}

// stricts has converted schemas: an agent's tools are the same in all its conversations.
var stricts = memo.New[string, strictResult](512)

type strictResult struct {
	schema json.RawMessage
	err    error
}

func makeStrict(schema json.RawMessage) (json.RawMessage, error) {
	root := gjson.ParseBytes(schema)
	if !gjson.ValidBytes(schema) || !root.IsObject() {
		return nil, fault.New(fault.Invalid, "the schema is not a JSON object")
	}
	if !isObject(root) || root.Get("anyOf").Exists() || root.Get("oneOf").Exists() {
		return nil, unsupported("a schema that is not an object")
	}
	properties := 0
	return strict(nil, root, false, 0, &properties)
}

// The limits of strict mode.
const (
	strictDepth      = 10
	strictProperties = 5_000
)

func unsupported(what string) error {
	return fault.New(fault.Unsupported, "strict mode does not support "+what)
}

// strictKeywords are copied unchanged, or written by strictKeyword.
var strictKeywords = []string{
	"type", "description", "enum", "const", "items", "anyOf", "oneOf", "$defs", "definitions", "pattern", "format",
	"multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems",
}

// strictFormats are the string formats of strict mode.
var strictFormats = []string{"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}

// unsupportedKeywords cannot be removed without allowing values that the schema
// forbids, other than by a limit.
var unsupportedKeywords = []string{"allOf", "not", "if", "dependentRequired", "dependentSchemas", "patternProperties", "prefixItems"}

// strict appends the strict form of one schema and counts its properties.
func strict(dst []byte, s gjson.Result, nullable bool, depth int, properties *int) ([]byte, error) {
	if depth > strictDepth || *properties > strictProperties {
		return nil, unsupported("a schema as large as this")
	}
	if ref := s.Get(`\$ref`); ref.Exists() && !nullable {
		return append(append(append(dst, `{"$ref":`...), ref.Raw...), '}'), nil // $ref allows no other keyword
	}
	if nullable && (s.Get(`\$ref`).Exists() || s.Get("anyOf").Exists() || s.Get("oneOf").Exists() || s.Get("const").Exists() || !s.Get("type").Exists()) {
		// No type to add null to.
		dst = append(dst, `{"anyOf":[`...)
		dst, err := strict(dst, s, false, depth, properties)
		return append(dst, `,{"type":"null"}]}`...), err
	}
	if err := strictForm(s); err != nil {
		return nil, err
	}
	dst = append(dst, '{')
	comma := func() {
		if dst[len(dst)-1] != '{' {
			dst = append(dst, ',')
		}
	}
	var err error
	s.ForEach(func(key, v gjson.Result) bool {
		if !slices.Contains(strictKeywords, key.Str) || key.Str == "format" && !slices.Contains(strictFormats, v.Str) {
			return true
		}
		comma()
		name := key.Raw
		if key.Str == "oneOf" {
			name = `"anyOf"`
		}
		dst = append(append(dst, name...), ':')
		dst, err = strictKeyword(dst, key.Str, v, nullable, depth, properties)
		return err == nil
	})
	if err == nil && isObject(s) {
		comma()
		dst, err = strictObject(dst, s, depth, properties)
	}
	return append(dst, '}'), err
}

// strictForm reports whether a schema has a strict form, ignoring nested ones.
func strictForm(s gjson.Result) error {
	for _, key := range unsupportedKeywords {
		if s.Get(key).Exists() {
			return unsupported(key)
		}
	}
	more := s.Get("additionalProperties")
	switch {
	case s.Get("anyOf").Exists() && s.Get("oneOf").Exists():
		return unsupported("anyOf beside oneOf")
	case isObject(s) && (!s.Get("properties").IsObject() || more.IsObject() || more.Type == gjson.True):
		return unsupported("objects with arbitrary properties")
	case isType(s, "array") && !s.Get("items").IsObject():
		return unsupported("lists of arbitrary items")
	case !s.Get("type").Exists() && !s.Get("anyOf").Exists() && !s.Get("oneOf").Exists() && !s.Get("enum").Exists() && !s.Get("const").Exists() && !isObject(s):
		return unsupported("values of arbitrary types")
	}
	return nil
}

func isObject(s gjson.Result) bool { return s.Get("properties").IsObject() || isType(s, "object") }

func isType(s gjson.Result, name string) bool {
	return slices.ContainsFunc(s.Get("type").Array(), func(t gjson.Result) bool { return t.Str == name })
}

// strictKeyword appends the value of one keyword.
func strictKeyword(dst []byte, key string, v gjson.Result, nullable bool, depth int, properties *int) ([]byte, error) {
	var err error
	switch {
	case key == "type" && nullable:
		return appendNull(dst, v, `"null"`), nil
	case key == "enum" && nullable:
		return appendNull(dst, v, "null"), nil
	case key == "items" && v.IsObject():
		return strict(dst, v, false, depth+1, properties)
	case (key == "anyOf" || key == "oneOf") && v.IsArray():
		dst = append(dst, '[')
		for i, variant := range v.Array() {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = strict(dst, variant, false, depth, properties); err != nil {
				return nil, err
			}
		}
		return append(dst, ']'), nil
	case (key == "$defs" || key == "definitions") && v.IsObject():
		return strictEach(dst, v, depth-1, properties, func(string) bool { return false })
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

// strictObject appends the keywords of an object.
func strictObject(dst []byte, s gjson.Result, depth int, count *int) ([]byte, error) {
	required := map[string]bool{}
	for _, r := range s.Get("required").Array() {
		required[r.Str] = true
	}
	properties := s.Get("properties")
	dst, err := strictEach(append(dst, `"properties":`...), properties, depth, count, func(name string) bool { return !required[name] })
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
func strictEach(dst []byte, schemas gjson.Result, depth int, properties *int, nullable func(string) bool) ([]byte, error) {
	dst = append(dst, '{')
	var err error
	schemas.ForEach(func(name, s gjson.Result) bool {
		if dst[len(dst)-1] != '{' {
			dst = append(dst, ',')
		}
		dst = append(append(dst, name.Raw...), ':')
		*properties++
		dst, err = strict(dst, s, nullable(name.Str), depth+1, properties)
		return err == nil
	})
	return append(dst, '}'), err
}
