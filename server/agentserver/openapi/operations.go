package openapi

import (
	"bytes"
	"compress/gzip"
	_ "embed" // for the files below
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/deft-dev/deft/internal/lazyregexp"
)

//go:embed contract.json.gz
var packed []byte

//go:embed operations.txt
var lines string

// object is any JSON object.
type object = map[string]any

// contract is the reference's document.
type contract struct {
	Paths      map[string]map[string]object `json:"paths"`
	Components struct {
		Schemas map[string]any `json:"schemas"`
		Schemes map[string]any `json:"securitySchemes"`
	} `json:"components"`
}

// unpack reads the facts.
func (o *Contract) unpack() (*contract, error) {
	z, err := gzip.NewReader(bytes.NewReader(o.Packed))
	if err != nil {
		return nil, fmt.Errorf("unpack the contract: %w", err)
	}
	c := &contract{}
	if err := json.NewDecoder(z).Decode(c); err != nil {
		return nil, fmt.Errorf("read the contract: %w", err)
	}
	if o.Schemes != nil {
		c.Components.Schemes = o.Schemes
	}
	return c, nil
}

// operation is a line of operations.txt.
type operation struct {
	statuses []string
	summary  string
}

var parameter = lazyregexp.New(`\{[^}]*\}`)

// key names an operation whatever its path parameters are called.
func key(method, path string) string {
	return method + " " + parameter().ReplaceAllString(path, "{}")
}

// operations reads the lines.
func (o *Contract) operations() map[string]operation {
	out := map[string]operation{}
	for line := range strings.Lines(o.Lines) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		what, rest, _ := strings.Cut(line, "|")
		statuses, summary, _ := strings.Cut(rest, "|")
		method, path, _ := strings.Cut(strings.TrimSpace(what), " ")
		out[key(method, path)] = operation{strings.Fields(statuses), strings.TrimSpace(summary)}
	}
	return out
}

// described is an operation of the contract under its path there.
type described struct {
	path string
	op   object
}

// index finds the operations of the contract by their keys.
func (c *contract) index() map[string]described {
	out := map[string]described{}
	for path, ops := range c.Paths {
		for method, op := range ops {
			out[key(strings.ToUpper(method), path)] = described{path, op}
		}
	}
	return out
}

// names are the parameters of a path.
func names(path string) (out []string) {
	for _, p := range parameter().FindAllString(path, -1) {
		out = append(out, strings.Trim(p, "{}"))
	}
	return out
}

// reachable are the schemas that a value refers to, and those they refer to.
func (c *contract) reachable(v any, found map[string]any) {
	switch v := v.(type) {
	case object:
		for k, item := range v {
			if ref, ok := item.(string); ok && k == "$ref" {
				name := strings.TrimPrefix(ref, "#/components/schemas/")
				if schema, ok := c.Components.Schemas[name]; ok && found[name] == nil {
					found[name] = schema
					c.reachable(schema, found)
				}
				continue
			}
			c.reachable(item, found)
		}
	case []any:
		for _, item := range v {
			c.reachable(item, found)
		}
	}
}

// name gives the choices of discriminators the values that they have. The
// contract has names there that no value ever equals.
func (c *contract) name(v any) {
	switch v := v.(type) {
	case object:
		if d, ok := v["discriminator"].(object); ok {
			if mapping, ok := d["mapping"].(object); ok {
				d["mapping"] = c.valuesOf(mapping, d["propertyName"])
			}
		}
		for _, item := range v {
			c.name(item)
		}
	case []any:
		for _, item := range v {
			c.name(item)
		}
	}
}

// readable takes writeOnly from fields of answers: the contract has it there on
// secrets, which answers do hold, masked or null.
func readable(v any) {
	switch v := v.(type) {
	case object:
		delete(v, "writeOnly")
		for _, item := range v {
			readable(item)
		}
	case []any:
		for _, item := range v {
			readable(item)
		}
	}
}

func (c *contract) valuesOf(mapping object, property any) object {
	out := object{}
	for was, ref := range mapping {
		path, _ := ref.(string)
		schema, _ := c.Components.Schemas[strings.TrimPrefix(path, "#/components/schemas/")].(object)
		properties, _ := schema["properties"].(object)
		name, _ := property.(string)
		value, _ := properties[name].(object)
		if value["const"] != nil {
			was = fmt.Sprint(value["const"])
		}
		out[was] = ref
	}
	return out
}

func sortedCompact(s []string) []string {
	slices.Sort(s)
	return slices.Compact(s)
}
