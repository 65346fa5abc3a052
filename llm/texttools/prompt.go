package texttools

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/deft-dev/deft/llm"
)

const (
	promptHead = `You can call the functions below. To call one, end your answer with a call in exactly this form:

<function=NAME>
<parameter=KEY>VALUE</parameter>
</function>

Rules of calls:
- One call in each answer, after everything else you have to say. Stop after </function>; the result comes in the next message of the user, and you never write it yourself.
- Every required parameter is given. A value may have many lines.
- Values are written as they are: no quotes around texts, no escapes such as &lt; or \n. Lists and objects are written as JSON.
- Without a call, your answer ends your turn.

The functions:
`
	exampleHead = "\nAn example of an answer with a call:\n\nLet me do that now.\n\n"
)

// suffix describes the tools and how to call them.
func suffix(tools []llm.Tool, choice string) string {
	if len(tools) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(promptHead)
	for i := range tools {
		describe(&b, &tools[i])
	}
	b.WriteString(exampleHead)
	example(&b, tools)
	switch choice {
	case "", "auto":
	case "required":
		b.WriteString("\n\nYour next answer has to end with a call.")
	default:
		b.WriteString("\n\nYour next answer has to end with a call of " + choice + ".")
	}
	return b.String()
}

func describe(b *strings.Builder, t *llm.Tool) {
	b.WriteString("\n## " + t.Name + "\n")
	if d := strings.TrimSpace(t.Description); d != "" {
		b.WriteString(d + "\n")
	}
	schema := gjson.ParseBytes(t.Parameters)
	required := map[string]bool{}
	for _, name := range schema.Get("required").Array() {
		required[name.Str] = true
	}
	n := 0
	schema.Get("properties").ForEach(func(name, p gjson.Result) bool {
		if n == 0 {
			b.WriteString("Parameters:\n")
		}
		n++
		b.WriteString("- " + name.Str + " (" + typeName(p))
		if required[name.Str] {
			b.WriteString(", required")
		}
		b.WriteString(")")
		if d := strings.Join(strings.Fields(p.Get("description").Str), " "); d != "" {
			b.WriteString(": " + d)
		}
		if values := p.Get("enum"); values.IsArray() {
			b.WriteString(" One of " + values.Raw + ".")
		}
		b.WriteString("\n")
		return true
	})
	if n == 0 {
		b.WriteString("No parameters.\n")
	}
}

// typeName returns a property's type, with the schema of the items of a list or
// the properties of an object.
func typeName(p gjson.Result) string {
	name := strings.Join(typesOf(p), " or ")
	switch name {
	case "":
		return "any"
	case "array":
		if items := p.Get("items"); items.Exists() {
			return "array of " + items.Raw
		}
	case "object":
		if props := p.Get("properties"); props.Exists() {
			return "object of " + props.Raw
		}
	}
	return name
}

// typesOf returns the types in a property's schema.
func typesOf(p gjson.Result) []string {
	var types []string
	for _, t := range p.Get("type").Array() { // of a string, one
		types = append(types, t.Str)
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		for _, variant := range p.Get(key).Array() {
			types = append(types, typesOf(variant)...)
		}
	}
	return types
}

// example writes a call of one of the tools: the terminal, which most agents
// have, or the first with a required parameter.
func example(b *strings.Builder, tools []llm.Tool) {
	best := &tools[0]
	for i := len(tools) - 1; i >= 0; i-- {
		if tools[i].Name == "terminal" || best.Name != "terminal" && gjson.GetBytes(tools[i].Parameters, "required.0").Exists() {
			best = &tools[i]
		}
	}
	b.WriteString("<function=" + best.Name + ">\n")
	schema := gjson.ParseBytes(best.Parameters)
	required := schema.Get("required").Raw
	schema.Get("properties").ForEach(func(name, p gjson.Result) bool {
		if strings.Contains(required, name.Raw) {
			b.WriteString("<parameter=" + name.Str + ">" + sample(name.Str, p) + "</parameter>\n")
		}
		return true
	})
	b.WriteString("</function>")
}

func sample(name string, p gjson.Result) string {
	if first := p.Get("enum.0"); first.Exists() {
		return first.String()
	}
	switch p.Get("type").String() {
	case "integer", "number":
		return "1"
	case "boolean":
		return "true"
	case "array":
		return "[]"
	case "object":
		return "{}"
	}
	switch name {
	case "command":
		return "ls -la"
	case "path":
		return "/tmp/example.txt"
	}
	return "the text of " + name
}
