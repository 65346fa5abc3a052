package llmtest

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/tidwall/gjson"
)

// reasoningModel matches OpenAI's models that refuse sampling parameters.
var reasoningModel = regexp.MustCompile(`^(o[1-9]|gpt-5)`)

// chat reads a Chat Completions request, after
// https://platform.openai.com/docs/api-reference/chat/create.
func (d *decoding) chat(root object) {
	d.model(root)
	d.chatParameters(root)
	messages := root.Get("messages")
	if !messages.IsArray() {
		d.fail("messages", "Missing required parameter: 'messages'.")
	}
	i := 0
	messages.ForEach(func(_, m gjson.Result) bool {
		d.chatMessage(m, i)
		i++
		return true
	})
	if i == 0 {
		d.fail("messages", "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.")
	}
	d.chatTools(root)
	d.chatHistory()
}

func (d *decoding) chatParameters(root object) {
	opts := root.Get("stream_options")
	if present(opts) && !d.req.Stream {
		d.fail("stream_options", "The 'stream_options' parameter is only allowed when 'stream' is enabled.")
	}
	d.req.includeUsage = opts.Get("include_usage").Bool()
	for _, name := range []string{"max_tokens", "max_completion_tokens"} {
		n := root.Get(name)
		if !present(n) {
			continue
		}
		if n.Type != gjson.Number || n.Int() < 1 {
			d.fail(name, "Invalid '%s': integer below minimum value. Expected a value >= 1, but got %s instead.", name, n.Raw)
		}
		d.req.MaxTokens = int(n.Int())
	}
	temperature(d, root, 2)
	if !reasoningModel.MatchString(d.req.Model) {
		return
	}
	if present(root.Get("max_tokens")) {
		d.fail("max_tokens", "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.")
	}
	if t := root.Get("temperature"); present(t) && t.Num != 1 {
		d.fail("temperature", "Unsupported value: 'temperature' does not support %s with this model. Only the default (1) value is supported.", t.Raw)
	}
}

func temperature(d *decoding, root object, top float64) {
	if t := root.Get("temperature"); present(t) && (t.Type != gjson.Number || t.Num < 0 || t.Num > top) {
		d.fail("temperature", "Invalid 'temperature': expected a number from 0 to %g, but got %s instead.", top, t.Raw)
	}
}

func (d *decoding) chatMessage(m gjson.Result, i int) {
	at := fmt.Sprintf("messages.%d", i)
	if !m.IsObject() {
		d.fail(at, "Invalid type for '%s': expected an object, but got %s instead.", at, kindOf(m))
		return
	}
	role := m.Get("role").String()
	msg := Message{Role: role}
	content := m.Get("content")
	d.chatContent(&msg, content, at)
	switch role {
	case "system", "developer":
		d.system = append(d.system, msg.Text)
		d.needContent(content, role, at)
		return
	case RoleUser:
		d.needContent(content, role, at)
	case RoleAssistant:
		msg.Reasoning = m.Get("reasoning_content").String()
		d.chatCalls(&msg, m, at)
		if !present(content) && len(msg.ToolCalls) == 0 && !present(m.Get("refusal")) {
			d.fail(at+".content", "Invalid value for 'content': expected a string, got null.")
		}
	case RoleTool:
		d.needContent(content, role, at)
		id := m.Get("tool_call_id")
		if id.Type != gjson.String {
			d.fail(at, "Missing parameter 'tool_call_id': messages with role 'tool' must have a 'tool_call_id'.")
		}
		msg.ToolResults, msg.Text = []Result{{CallID: id.String(), Text: msg.Text}}, ""
	default:
		d.fail(at+".role", "Invalid value: '%s'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'.", role)
	}
	d.req.Messages = append(d.req.Messages, msg)
}

func (d *decoding) needContent(content gjson.Result, role, at string) {
	if !present(content) {
		d.fail(at+".content", "Invalid value for 'content': expected a string, got null.")
	} else if content.IsArray() && len(content.Array()) == 0 {
		d.fail(at+".content", "Invalid '%s.content': empty array. Expected an array with minimum length 1, but got an empty array instead.", at)
	}
}

// chatContent reads a string or an array of parts.
func (d *decoding) chatContent(msg *Message, content gjson.Result, at string) {
	switch {
	case !present(content):
		return
	case content.Type == gjson.String:
		msg.Text = content.Str
		return
	case !content.IsArray():
		d.fail(at+".content", "Invalid type for '%s.content': expected one of a string or array of objects, but got %s instead.", at, kindOf(content))
		return
	}
	var texts []string
	content.ForEach(func(_, part gjson.Result) bool {
		if part.Get("cache_control").Exists() {
			msg.Cached++
		}
		switch kind := part.Get("type").String(); kind {
		case "text", "refusal":
			text := part.Get(kind)
			if text.Type != gjson.String {
				d.fail(at+".content", "Missing required parameter: '%s.content.%s'.", at, kind)
			}
			texts = append(texts, text.String())
		case "image_url", "input_audio", "file":
			if msg.Role != RoleUser {
				d.fail(at+".content", "Invalid content type. %s is only allowed in user messages.", kind)
			}
			if kind == "image_url" && part.Get("image_url.url").String() == "" {
				d.fail(at+".content", "Missing required parameter: '%s.content.image_url.url'.", at)
			}
			msg.Images++
		default:
			d.fail(at+".content", "Invalid value: '%s'. Supported values are: 'text', 'image_url', 'input_audio', 'refusal', and 'file'.", kind)
		}
		return true
	})
	msg.Text = strings.Join(texts, "\n")
}

func (d *decoding) chatCalls(msg *Message, m gjson.Result, at string) {
	calls := m.Get("tool_calls")
	if !present(calls) {
		return
	}
	if !calls.IsArray() || len(calls.Array()) == 0 {
		d.fail(at+".tool_calls", "Invalid '%s.tool_calls': empty array. Expected an array with minimum length 1, but got an empty array instead.", at)
	}
	calls.ForEach(func(_, c gjson.Result) bool {
		id, name, args := c.Get("id"), c.Get("function.name"), c.Get("function.arguments")
		switch {
		case id.String() == "":
			d.fail(at+".tool_calls", "Missing required parameter: '%s.tool_calls[%d].id'.", at, len(msg.ToolCalls))
		case c.Get("type").String() != "function":
			d.fail(at+".tool_calls", "Missing required parameter: '%s.tool_calls[%d].type'.", at, len(msg.ToolCalls))
		case !openAIName.MatchString(name.String()):
			d.fail(at+".tool_calls", "Invalid '%s.tool_calls[%d].function.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.", at, len(msg.ToolCalls))
		case args.Type != gjson.String:
			d.fail(at+".tool_calls", "Invalid type for '%s.tool_calls[%d].function.arguments': expected a string, but got %s instead.", at, len(msg.ToolCalls), kindOf(args))
		}
		msg.ToolCalls = append(msg.ToolCalls, Call{ID: id.String(), Name: name.String(), Arguments: args.String()})
		return true
	})
}

func (d *decoding) chatTools(root object) {
	tools := root.Get("tools")
	if !present(tools) {
		for _, name := range []string{"tool_choice", "parallel_tool_calls"} {
			if present(root.Get(name)) {
				d.fail(name, "Invalid value for '%s': '%s' is only allowed when 'tools' are specified.", name, name)
			}
		}
		return
	}
	if !tools.IsArray() || len(tools.Array()) == 0 {
		d.fail("tools", "Invalid 'tools': empty array. Expected an array with minimum length 1, but got an empty array instead.")
	}
	tools.ForEach(func(_, t gjson.Result) bool {
		if kind := t.Get("type").String(); kind != "function" {
			d.fail("tools", "Invalid value: '%s'. Supported values are: 'function'.", kind)
		}
		d.openAITool(t.Get("function"), fmt.Sprintf("tools[%d].function", len(d.req.Tools)))
		return true
	})
}

// openAITool reads the name, description and parameters of a function.
func (d *decoding) openAITool(f gjson.Result, at string) {
	name, schema := f.Get("name").String(), f.Get("parameters")
	if !openAIName.MatchString(name) {
		d.fail(at+".name", "Invalid '%s.name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.", at)
	}
	if present(schema) {
		if why := schemaProblem(schema); why != "" {
			d.fail(at+".parameters", "Invalid schema for function '%s': %s.", name, why)
		}
	}
	d.req.Tools = append(d.req.Tools, Tool{Name: name, Description: f.Get("description").String(), Schema: schema.Raw})
}

// chatHistory checks that every call has exactly one result, directly after it.
func (d *decoding) chatHistory() {
	var open map[string]bool
	settle := func() {
		if len(open) > 0 {
			d.fail("messages", "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: %s", strings.Join(sortedKeys(open), ", "))
		}
		open = nil
	}
	after := false // the messages before were a call and its results
	for i := range d.req.Messages {
		m := &d.req.Messages[i]
		if m.Role == RoleTool {
			id := m.ToolResults[0].CallID
			if !after {
				d.fail("messages", "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.")
			} else if !open[id] {
				d.fail("messages", "Invalid parameter: 'tool_call_id' of '%s' not found in 'tool_calls' of previous message, or answered twice.", id)
			}
			delete(open, id)
			continue
		}
		settle()
		after = len(m.ToolCalls) > 0
		if after {
			open = make(map[string]bool, len(m.ToolCalls))
		}
		for _, c := range m.ToolCalls {
			if open[c.ID] {
				d.fail("messages", "Duplicate value for 'tool_call_id' of '%s'.", c.ID)
			}
			open[c.ID] = true
		}
	}
	settle()
}
