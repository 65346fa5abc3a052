package tool

import (
	"bytes"
	"encoding/json"
)

// Schema is the JSON schema of a tool's arguments: an object whose properties
// keep their order, because models read it in order (tools.md section 1).
type Schema struct {
	Properties []Property
	// Raw replaces Properties for tools whose schema comes from elsewhere
	// (MCP servers, clients).
	Raw json.RawMessage
}

// Property is one argument.
type Property struct {
	Name        string
	Type        string // string, number, integer, boolean, array, object
	Description string
	Enum        []string
	Required    bool
	Items       *Property // of an array
	Object      *Schema   // of an object
}

// MarshalJSON writes the schema in the subset that all providers take: type,
// description, enum, items, properties, required.
func (s Schema) MarshalJSON() ([]byte, error) {
	if s.Raw != nil {
		return s.Raw, nil
	}
	var b bytes.Buffer
	var required []string
	b.WriteString(`{"type":"object","properties":{`)
	for i, p := range s.Properties {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(p.Name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(p)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
		if p.Required {
			required = append(required, p.Name)
		}
	}
	b.WriteByte('}')
	if required != nil {
		list, err := json.Marshal(required)
		if err != nil {
			return nil, err
		}
		b.WriteString(`,"required":`)
		b.Write(list)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// MarshalJSON implements [json.Marshaler].
func (p Property) MarshalJSON() ([]byte, error) {
	if p.Object != nil {
		return json.Marshal(p.Object)
	}
	return json.Marshal(struct {
		Type        string    `json:"type"`
		Description string    `json:"description,omitempty"`
		Enum        []string  `json:"enum,omitempty"`
		Items       *Property `json:"items,omitempty"`
	}{p.Type, p.Description, p.Enum, p.Items})
}
