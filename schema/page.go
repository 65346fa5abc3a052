package schema

import "strings"

// Page is how a settings page shows a field (docs/openhands/sdk-wire.md section
// 10, Settings; docs/openhands/sdk-wire-1.58.md section C.4). Without a label
// it is named after the field.
type Page struct {
	Label       string
	Description string
	Prominence  string   // "critical", "major" or "minor", the default
	DependsOn   []string // fields that must be on, or "field=value"
}

// Entry returns the field as a member of a section of a page. prefix is put
// before keys of nested fields, variant is the kind of agent it is for.
func (f Field) Entry(prefix, section, label, variant string) *Map {
	p := f.Page
	depends, choices := []any{}, []any{}
	for _, d := range p.DependsOn {
		depends = append(depends, prefix+d)
	}
	for _, c := range choicesOf(f.Type) {
		choices = append(choices, Of("value", c, "label", c))
	}
	prominence := p.Prominence
	if prominence == "" {
		prominence = "minor"
	}
	name := p.Label
	if name == "" {
		name = Humanize(f.Name)
	}
	_, secret := Bare(f.Type).(Secret)
	return Of("key", prefix+f.Name, "label", name, "description", orNull(p.Description),
		"section", section, "section_label", label, "value_type", valueType(f.Type), "default", f.value(),
		"prominence", prominence, "depends_on", depends, "secret", secret,
		"choices", choices, "variant", orNull(variant))
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// Bare returns the type below Opt.
func Bare(t Type) Type {
	if o, ok := t.(optional); ok {
		return Bare(o.of)
	}
	return t
}

func choicesOf(t Type) []string {
	e, _ := Bare(t).(Enum)
	return e
}

// valueType names a type as pages do.
func valueType(t Type) string {
	switch Bare(t).(type) {
	case Int:
		return "integer"
	case Number:
		return "number"
	case Bool:
		return "boolean"
	case List:
		return "array"
	case Dict, Secrets, *Object:
		return "object"
	}
	return "string"
}

// Humanize makes a label of a field's name: "api_key" is "API Key".
func Humanize(name string) string {
	words := strings.Split(name, "_")
	for i, w := range words {
		switch {
		case w == "":
		case w == "api", w == "aws", w == "id", w == "llm", w == "url":
			words[i] = strings.ToUpper(w)
		default:
			words[i] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	return strings.Join(words, " ")
}
