package tool

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/deft-dev/deft/fault"
)

// Bounds on how much of an MCP server's or a client's schema is read, because
// references can multiply; parts beyond them become a plain object.
const (
	maxSchemaDepth = 16
	maxSchemaNodes = 5000
)

// ParseSchema reads a JSON schema of an MCP server or a client into the subset
// that all providers take: references are put in place (a recursive one becomes a
// plain object), nullable unions become their other type, and defaults, titles and
// additionalProperties are dropped (docs/openhands/tools.md section 1). Of a union
// of several types the first is kept; enumerations of anything but strings are
// dropped. Properties keep the order of the text. A schema that is not an object
// gives an error of kind fault.Invalid.
func ParseSchema(raw json.RawMessage) (Schema, error) {
	root, err := object(raw)
	if err != nil {
		return Schema{}, fault.Wrap(err, fault.Invalid, "not a JSON schema of an object")
	}
	r := &schemaReader{root: root}
	p := r.property(raw, nil)
	if p.Object == nil {
		return Schema{open: true}, nil
	}
	return *p.Object, nil
}

type schemaReader struct {
	root  map[string]json.RawMessage
	nodes int
}

// property reads one schema; path holds the references being followed.
func (r *schemaReader) property(raw json.RawMessage, path []string) Property {
	node, err := object(raw)
	r.nodes++
	if err != nil || len(path) > maxSchemaDepth || r.nodes > maxSchemaNodes {
		return Property{Type: "object"}
	}
	var p Property
	p.Description = text(node["description"])
	if ref := text(node["$ref"]); ref != "" {
		target := r.resolve(ref)
		if target == nil || slices.Contains(path, ref) {
			return Property{Type: "object", Description: p.Description}
		}
		return describe(r.property(target, append(slices.Clone(path), ref)), p.Description)
	}
	if _, typed := node["type"]; !typed {
		if member := firstMember(node); member != nil {
			return describe(r.property(member, append(slices.Clone(path), "")), p.Description)
		}
	}
	p.Type = typeName(node["type"])
	if p.Type == "" && node["properties"] != nil {
		p.Type = "object"
	}
	var enum []string
	if json.Unmarshal(node["enum"], &enum) == nil {
		p.Enum = enum
	}
	path = append(slices.Clone(path), "")
	switch {
	case p.Type == "array" && node["items"] != nil:
		items := r.property(node["items"], path)
		p.Items = &items
	case p.Type == "object" && node["properties"] != nil:
		p.Object = r.properties(node, path)
	}
	return p
}

func (r *schemaReader) properties(node map[string]json.RawMessage, path []string) *Schema {
	var required []string
	if json.Unmarshal(node["required"], &required) != nil {
		required = nil // a malformed list requires nothing; the server checks anyway
	}
	s := &Schema{Properties: []Property{}, open: true}
	members, err := object(node["properties"])
	if err != nil {
		return s
	}
	for _, name := range keys(node["properties"]) {
		p := r.property(members[name], path)
		p.Name, p.Required = name, slices.Contains(required, name)
		s.Properties = append(s.Properties, p)
	}
	return s
}

// resolve finds "#/$defs/Name" and "#/definitions/Name"; nil if there is none.
func (r *schemaReader) resolve(ref string) json.RawMessage {
	rest, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil
	}
	node := r.root
	parts := strings.Split(rest, "/")
	for i, part := range parts {
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		next := node[part]
		if next == nil || i == len(parts)-1 {
			return next
		}
		var err error
		if node, err = object(next); err != nil {
			return nil
		}
	}
	return nil
}

// firstMember returns the first member of a union that is not null.
func firstMember(node map[string]json.RawMessage) json.RawMessage {
	for _, key := range []string{"anyOf", "oneOf", "allOf"} {
		var members []json.RawMessage
		if json.Unmarshal(node[key], &members) != nil {
			continue
		}
		for _, m := range members {
			if o, err := object(m); err == nil && text(o["type"]) != "null" {
				return m
			}
		}
	}
	return nil
}

// typeName reads "string" and ["string","null"].
func typeName(raw json.RawMessage) string {
	if t := text(raw); t != "" {
		return t
	}
	var list []string
	if json.Unmarshal(raw, &list) == nil {
		for _, t := range list {
			if t != "null" {
				return t
			}
		}
	}
	return ""
}

func describe(p Property, description string) Property {
	p.Description = cmp.Or(description, p.Description)
	return p
}

// text returns the string in raw, or "" when raw is anything else.
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

func object(raw json.RawMessage) (map[string]json.RawMessage, error) {
	var m map[string]json.RawMessage
	err := json.Unmarshal(raw, &m)
	if err == nil && m == nil {
		err = fault.New(fault.Invalid, "null is not an object")
	}
	return m, err
}

// keys returns the member names of a valid JSON object in the order of their
// first appearance.
func keys(raw json.RawMessage) []string {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if _, err := dec.Token(); err != nil {
		return nil
	}
	var names []string
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return names
		}
		var skip json.RawMessage
		if err := dec.Decode(&skip); err != nil {
			return names
		}
		if s, ok := name.(string); ok && !slices.Contains(names, s) {
			names = append(names, s)
		}
	}
	return names
}
