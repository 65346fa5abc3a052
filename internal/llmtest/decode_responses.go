package llmtest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// responses reads a Responses request, after
// https://platform.openai.com/docs/api-reference/responses/create.
func (d *decoding) responses(root object) {
	d.model(root)
	d.responsesParameters(root)
	if s := root.Get("instructions"); present(s) {
		d.system = append(d.system, s.String())
	}
	input := root.Get("input")
	switch {
	case input.Type == gjson.String:
		d.req.Messages = append(d.req.Messages, Message{Role: RoleUser, Text: input.Str})
	case !input.IsArray():
		d.fail("input", "Missing required parameter: 'input'.")
	default:
		d.responsesItems(input.Array(), present(root.Get("store")) && !root.Get("store").Bool())
	}
	tools := root.Get("tools")
	tools.ForEach(func(_, t gjson.Result) bool {
		if t.Get("type").String() == "function" {
			d.openAITool(t, fmt.Sprintf("tools[%d]", len(d.req.Tools)))
		} else if t.Get("type").String() == "" {
			d.fail("tools", "Missing required parameter: 'tools[%d].type'.", len(d.req.Tools))
		}
		return true
	})
}

func (d *decoding) responsesParameters(root object) {
	if n := root.Get("max_output_tokens"); present(n) {
		if n.Type != gjson.Number || n.Int() < 16 {
			d.fail("max_output_tokens", "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got %s instead.", n.Raw)
		}
		d.req.MaxTokens = int(n.Int())
	}
	temperature(d, root, 2)
	for _, inc := range root.Get("include").Array() {
		d.req.includeEncrypted = d.req.includeEncrypted || inc.Str == "reasoning.encrypted_content"
	}
	if id := root.Get("previous_response_id"); present(id) {
		// Nothing is stored here, so no earlier response can be found.
		d.fail("previous_response_id", "Previous response with id '%s' not found.", id.String())
	}
}

// responsesItems reads the input items. Consecutive items of the model become
// one assistant message.
func (d *decoding) responsesItems(items []gjson.Result, unstored bool) {
	if len(items) == 0 {
		d.fail("input", "Invalid 'input': empty array. Expected an array with minimum length 1, but got an empty array instead.")
	}
	var open, seen = map[string]bool{}, map[string]bool{}
	for i, item := range items {
		at := fmt.Sprintf("input[%d]", i)
		kind := item.Get("type").String()
		if kind == "" && present(item.Get("role")) {
			kind = "message"
		}
		switch kind {
		case "message":
			d.responsesMessage(item, at)
		case "reasoning":
			d.reasoningItem(item, at, i+1 < len(items) && followsReasoning(items[i+1]), unstored)
		case "function_call":
			c := Call{ID: item.Get("call_id").String(), Name: item.Get("name").String(), Arguments: item.Get("arguments").String()}
			d.functionCall(c, item, at, open, seen)
		case "function_call_output":
			d.functionOutput(item, at, open, seen)
		default:
			d.fail(at, "Invalid value: '%s'. Supported values are: 'message', 'reasoning', 'function_call' and 'function_call_output'.", kind)
		}
	}
	if len(open) > 0 {
		d.fail("input", "No tool output found for function call %s.", strings.Join(sortedKeys(open), ", "))
	}
}

// assistant returns the current assistant message, or a new one.
func (d *decoding) assistant() *Message {
	if n := len(d.req.Messages); n > 0 && d.req.Messages[n-1].Role == RoleAssistant {
		return &d.req.Messages[n-1]
	}
	d.req.Messages = append(d.req.Messages, Message{Role: RoleAssistant})
	return &d.req.Messages[len(d.req.Messages)-1]
}

func (d *decoding) responsesMessage(item gjson.Result, at string) {
	role := item.Get("role").String()
	msg := Message{Role: role}
	if !slices.Contains([]string{"user", "assistant", "system", "developer"}, role) {
		d.fail(at+".role", "Invalid value: '%s'. Supported values are: 'assistant', 'system', 'developer', and 'user'.", role)
	}
	d.responsesContent(&msg, item.Get("content"), at)
	switch role {
	case "system", "developer":
		d.system = append(d.system, msg.Text)
	case RoleAssistant:
		a := d.assistant()
		if a.Text != "" && msg.Text != "" {
			a.Text += "\n"
		}
		a.Text += msg.Text
	default:
		d.req.Messages = append(d.req.Messages, msg)
	}
}

func (d *decoding) responsesContent(msg *Message, content gjson.Result, at string) {
	if content.Type == gjson.String {
		msg.Text = content.Str
		return
	}
	if !content.IsArray() {
		d.fail(at+".content", "Missing required parameter: '%s.content'.", at)
		return
	}
	allowed := []string{"input_text", "input_image", "input_file", "input_audio"}
	if msg.Role == RoleAssistant {
		allowed = []string{"output_text", "refusal"}
	}
	var texts []string
	content.ForEach(func(_, part gjson.Result) bool {
		kind := part.Get("type").String()
		switch {
		case !slices.Contains(allowed, kind):
			d.fail(at+".content", "Invalid value: '%s'. Supported values are: '%s'.", kind, strings.Join(allowed, "', '"))
		case kind == "input_text" || kind == "output_text":
			text := part.Get("text")
			if text.Type != gjson.String {
				d.fail(at+".content", "Missing required parameter: '%s.content.text'.", at)
			}
			texts = append(texts, text.String())
		case kind == "refusal":
			texts = append(texts, part.Get("refusal").String())
		default:
			msg.Images++
		}
		return true
	})
	msg.Text = strings.Join(texts, "\n")
}

func followsReasoning(item gjson.Result) bool {
	switch item.Get("type").String() {
	case "reasoning", "function_call":
		return true
	case "message", "":
		return item.Get("role").String() == RoleAssistant
	}
	return false
}

func (d *decoding) reasoningItem(item gjson.Result, at string, followed, unstored bool) {
	id, summary, enc := item.Get("id").String(), item.Get("summary"), item.Get("encrypted_content").String()
	var texts []string
	for _, s := range summary.Array() {
		texts = append(texts, s.Get("text").String())
	}
	text := strings.Join(texts, "\n")
	switch {
	case !summary.IsArray():
		d.fail(at+".summary", "Missing required parameter: '%s.summary'.", at)
	case !followed:
		d.fail("input", "Item '%s' of type 'reasoning' was provided without its required following item.", id)
	case enc == "" && unstored:
		d.fail("input", "Item with id '%s' not found. Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input.", id)
	case enc != "" && enc != sign("encrypted", id+"\x00"+text):
		d.fail("input", "The encrypted content for item %s could not be verified. Reason: Encrypted content could not be decrypted or parsed.", id)
	}
	a := d.assistant()
	a.Reasoning += text
}

func (d *decoding) functionCall(c Call, item gjson.Result, at string, open, seen map[string]bool) {
	switch {
	case c.ID == "":
		d.fail(at+".call_id", "Missing required parameter: '%s.call_id'.", at)
	case !openAIName.MatchString(c.Name):
		d.fail(at+".name", "Invalid '%s.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.", at)
	case item.Get("arguments").Type != gjson.String:
		d.fail(at+".arguments", "Invalid type for '%s.arguments': expected a string, but got %s instead.", at, kindOf(item.Get("arguments")))
	case seen[c.ID]:
		d.fail("input", "Duplicate function call with call_id %s.", c.ID)
	}
	open[c.ID], seen[c.ID] = true, true
	a := d.assistant()
	a.ToolCalls = append(a.ToolCalls, c)
}

func (d *decoding) functionOutput(item gjson.Result, at string, open, seen map[string]bool) {
	id, out := item.Get("call_id").String(), item.Get("output")
	switch {
	case !seen[id]:
		d.fail("input", "No tool call found for function call output with call_id %s.", id)
	case !open[id]:
		d.fail("input", "Duplicate function call output for call_id %s.", id)
	case !present(out):
		d.fail(at+".output", "Missing required parameter: '%s.output'.", at)
	}
	delete(open, id)
	msg := Message{Role: RoleUser}
	d.responsesContent(&msg, out, at)
	res := Result{CallID: id, Text: msg.Text}
	d.req.Messages = append(d.req.Messages, Message{Role: RoleTool, ToolResults: []Result{res}, Images: msg.Images})
}
