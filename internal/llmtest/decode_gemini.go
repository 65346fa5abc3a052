package llmtest

import (
	"fmt"
	"strings"

	"github.com/tidwall/gjson"
)

// either returns the camelCase field, else the snake_case one: the provider
// accepts both.
func either(o interface{ Get(string) gjson.Result }, camel, snake string) gjson.Result {
	if v := o.Get(camel); v.Exists() {
		return v
	}
	return o.Get(snake)
}

// gemini reads a generateContent request, after
// https://ai.google.dev/api/generate-content. Model and Stream come from the
// path.
func (d *decoding) gemini(root object) {
	for _, p := range either(root, "systemInstruction", "system_instruction").Get("parts").Array() {
		d.system = append(d.system, p.Get("text").String())
	}
	d.req.MaxTokens = int(either(either(root, "generationConfig", "generation_config"), "maxOutputTokens", "max_output_tokens").Int())
	d.geminiTools(root)
	contents := root.Get("contents")
	if !contents.IsArray() || len(contents.Array()) == 0 {
		d.fail("", "* GenerateContentRequest.contents: contents is not specified")
	}
	for i, c := range contents.Array() {
		d.geminiContent(c, i)
	}
	d.geminiHistory()
}

func (d *decoding) geminiTools(root object) {
	for i, t := range root.Get("tools").Array() {
		for j, f := range either(t, "functionDeclarations", "function_declarations").Array() {
			at := fmt.Sprintf("* GenerateContentRequest.tools[%d].function_declarations[%d]", i, j)
			name := f.Get("name").String()
			if !geminiName.MatchString(name) {
				d.fail("", "%s.name: Invalid function name. Must start with a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 128.", at)
			}
			schema := f.Get("parameters")
			if !present(schema) {
				schema = either(f, "parametersJsonSchema", "parameters_json_schema")
			}
			if present(schema) {
				if why := schemaProblem(schema); why != "" {
					d.fail("", "%s.parameters: %s", at, why)
				}
			}
			d.req.Tools = append(d.req.Tools, Tool{Name: name, Description: f.Get("description").String(), Schema: schema.Raw})
		}
	}
}

func (d *decoding) geminiContent(c gjson.Result, i int) {
	msg := Message{Role: RoleUser}
	switch role := c.Get("role").String(); role {
	case "", "user", "function":
	case "model":
		msg.Role = RoleAssistant
	default:
		d.fail("", "Please use a valid role: user, model.")
	}
	parts := c.Get("parts").Array()
	if len(parts) == 0 {
		d.fail("", "* GenerateContentRequest.contents[%d].parts: contents.parts must not be empty.", i)
	}
	var texts []string
	for j, p := range parts {
		call, res := either(p, "functionCall", "function_call"), either(p, "functionResponse", "function_response")
		switch {
		case call.IsObject():
			d.geminiCall(&msg, p, call, i, j)
		case res.IsObject():
			r := Result{CallID: res.Get("id").String(), Name: res.Get("name").String(), Text: responseText(res.Get("response"))}
			if !res.Get("response").IsObject() {
				d.fail("", "* GenerateContentRequest.contents[%d].parts[%d].function_response.response: must be an object.", i, j)
			}
			msg.ToolResults = append(msg.ToolResults, r)
		case p.Get("text").Type == gjson.String && p.Get("thought").Bool():
			msg.Reasoning += p.Get("text").Str
		case p.Get("text").Type == gjson.String:
			texts = append(texts, p.Get("text").Str)
		case either(p, "inlineData", "inline_data").IsObject() || either(p, "fileData", "file_data").IsObject():
			msg.Images++
		default:
			d.fail("", "* GenerateContentRequest.contents[%d].parts[%d].data: required oneof field 'data' must have one initialized field", i, j)
		}
	}
	msg.Text = strings.Join(texts, "\n")
	if len(msg.ToolResults) > 0 && msg.Text == "" {
		msg.Role = RoleTool
	}
	d.req.Messages = append(d.req.Messages, msg)
}

// responseText is the text of a function's response: its "output", "result"
// or "error" where that is a string, else the JSON object.
func responseText(response gjson.Result) string {
	for _, key := range []string{"output", "result", "error"} {
		if v := response.Get(key); v.Type == gjson.String {
			return v.Str
		}
	}
	return response.Raw
}

func (d *decoding) geminiCall(msg *Message, part, call gjson.Result, i, j int) {
	name, args := call.Get("name").String(), call.Get("args")
	if !geminiName.MatchString(name) {
		d.fail("", "* GenerateContentRequest.contents[%d].parts[%d].function_call.name: Name cannot be empty or malformed.", i, j)
	}
	if present(args) && !args.IsObject() {
		d.fail("", "* GenerateContentRequest.contents[%d].parts[%d].function_call.args: must be an object.", i, j)
	}
	sig := either(part, "thoughtSignature", "thought_signature").String()
	switch {
	case sig != "" && sig != sign("thought", name) && sig != placeholderSignature:
		d.fail("", "Thought signature is not valid.")
	case sig == "" && len(msg.ToolCalls) == 0 && strings.HasPrefix(d.req.Model, "gemini-3"):
		// That family requires it on the first call of each step.
		d.fail("", "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call `%s`, position %d.", name, i+1)
	}
	msg.ToolCalls = append(msg.ToolCalls, Call{ID: call.Get("id").String(), Name: name, Arguments: args.Raw})
}

// geminiHistory checks that each turn of calls has its results, by name, in the
// next content.
func (d *decoding) geminiHistory() {
	for i := range d.req.Messages {
		m := &d.req.Messages[i]
		var calls []Call
		if i > 0 {
			calls = d.req.Messages[i-1].ToolCalls
		}
		if len(calls) != len(m.ToolResults) {
			d.fail("", "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.")
			return
		}
		open := map[string]int{}
		for _, c := range calls {
			open[c.Name]++
		}
		for _, r := range m.ToolResults {
			if open[r.Name]--; open[r.Name] < 0 {
				d.fail("", "Please ensure that function response `%s` answers a function call of the turn before.", r.Name)
			}
		}
		if len(m.ToolCalls) > 0 && (i == 0 || d.req.Messages[i-1].Role == RoleAssistant) {
			d.fail("", "Please ensure that function call turn comes immediately after a user turn or after a function response turn.")
		}
		if i == len(d.req.Messages)-1 && len(m.ToolCalls) > 0 {
			d.fail("", "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.")
		}
	}
}

// placeholderSignature replaces the signature of a call by another model.
const placeholderSignature = "skip_thought_signature_validator"
