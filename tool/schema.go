package tool

import (
	"bytes"
	"encoding/json"
)

// Schema is the JSON schema of a tool's arguments: an object whose properties
// keep their order, because models read it in order (docs/openhands/tools.md
// section 1).
type Schema struct {
	Properties []Property
	// Raw replaces Properties for tools whose schema comes from elsewhere
	// (MCP servers, clients). [NewSet] reads it with [ParseSchema].
	Raw json.RawMessage

	open bool // other properties than those listed may be given
}

// Property is one argument.
type Property struct {
	Name        string
	Type        string // string, number, integer, boolean, array, object; empty for any
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
	return s.marshal("")
}

func (s Schema) marshal(description string) ([]byte, error) {
	var b bytes.Buffer
	var required []string
	b.WriteString(`{"type":"object",`)
	if description != "" {
		text, err := encode(description)
		if err != nil {
			return nil, err
		}
		b.WriteString(`"description":`)
		b.Write(text)
		b.WriteByte(',')
	}
	b.WriteString(`"properties":{`)
	for i, p := range s.Properties {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := encode(p.Name)
		if err != nil {
			return nil, err
		}
		value, err := p.MarshalJSON()
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
		list, err := encode(required)
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
	if p.Object != nil && p.Object.Raw == nil {
		return p.Object.marshal(p.Description)
	}
	if p.Object != nil {
		return p.Object.Raw, nil
	}
	return encode(struct {
		Type        string    `json:"type,omitempty"`
		Description string    `json:"description,omitempty"`
		Enum        []string  `json:"enum,omitempty"`
		Items       *Property `json:"items,omitempty"`
	}{p.Type, p.Description, p.Enum, p.Items})
}

// find returns the property called name.
func (s Schema) find(name string) (Property, bool) {
	for _, p := range s.Properties {
		if p.Name == name {
			return p, true
		}
	}
	return Property{}, false
}

// names returns the properties' names in order.
func (s Schema) names() []string {
	names := make([]string, len(s.Properties))
	for i, p := range s.Properties {
		names[i] = p.Name
	}
	return names
}

// encode is json.Marshal without the escaping of <, > and &, which would only
// cost the model tokens.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
