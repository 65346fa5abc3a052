package llmtest

import (
	"fmt"
	"strings"

	"github.com/tidwall/gjson"
)

// anthropic reads a Messages request, after
// https://docs.anthropic.com/en/api/messages.
func (d *decoding) anthropic(root object) {
	d.model(root)
	d.anthropicParameters(root)
	d.anthropicSystem(root.Get("system"))
	d.anthropicTools(root)
	messages := root.Get("messages")
	if !messages.IsArray() {
		d.fail("", "messages: Field required")
	}
	items := messages.Array()
	if len(items) == 0 {
		d.fail("", "messages: at least one message is required")
	}
	thinking := root.Get("thinking").Get("type").String()
	for i, m := range items {
		d.anthropicMessage(m, i, i == len(items)-1)
	}
	d.anthropicHistory()
	if thinking == "enabled" || thinking == "adaptive" {
		d.anthropicThinking(items)
	}
	if n := strings.Count(root.raw, `"cache_control"`); n > 4 {
		if n = countCacheControl(root); n > 4 {
			d.fail("", "A maximum of 4 blocks with cache_control may be provided. Found %d.", n)
		}
	}
}

func (d *decoding) anthropicParameters(root object) {
	max := root.Get("max_tokens")
	d.req.MaxTokens = int(max.Int())
	counting := strings.HasSuffix(d.req.Path, "/count_tokens")
	switch {
	case counting:
	case !present(max):
		d.fail("", "max_tokens: Field required")
	case max.Type != gjson.Number || max.Num != float64(max.Int()):
		d.fail("", "max_tokens: Input should be a valid integer")
	case max.Int() < 1:
		d.fail("", "max_tokens: Input should be greater than or equal to 1")
	}
	temperature(d, root, 1)
	if root.Get("thinking").Get("type").String() != "enabled" {
		return
	}
	budget := root.Get("thinking").Get("budget_tokens")
	switch {
	case !present(budget):
		d.fail("", "thinking.enabled.budget_tokens: Field required")
	case budget.Int() < 1024:
		d.fail("", "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
	case !counting && budget.Int() >= max.Int():
		d.fail("", "`max_tokens` must be greater than `thinking.budget_tokens`.")
	}
	if t := root.Get("temperature"); present(t) && t.Num != 1 {
		d.fail("", "`temperature` may only be set to 1 when thinking is enabled.")
	}
}

func (d *decoding) anthropicSystem(system gjson.Result) {
	switch {
	case !present(system):
	case system.Type == gjson.String:
		d.system = append(d.system, system.Str)
	case system.IsArray():
		for i, b := range system.Array() {
			text := b.Get("text")
			if b.Get("type").String() != "text" || text.Type != gjson.String {
				d.fail("", "system.%d.type: Input should be 'text'", i)
			} else if text.Str == "" {
				d.fail("", "system: text content blocks must be non-empty")
			}
			d.system = append(d.system, text.String())
		}
	default:
		d.fail("", "system: Input should be a valid string or list")
	}
}

func (d *decoding) anthropicTools(root object) {
	names := map[string]bool{}
	for i, t := range root.Get("tools").Array() {
		name, schema := t.Get("name").String(), t.Get("input_schema")
		if kind := t.Get("type").String(); kind != "" && kind != "custom" {
			continue // a tool that the provider runs itself
		}
		if !anthropicName.MatchString(name) {
			d.fail("", "tools.%d.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'", i)
		}
		if names[name] {
			d.fail("", "tools: Tool names must be unique.")
		}
		names[name] = true
		if why := schemaProblem(schema); !present(schema) {
			d.fail("", "tools.%d.custom.input_schema: Field required", i)
		} else if why != "" {
			d.fail("", "tools.%d.custom.input_schema: JSON schema is invalid: %s", i, why)
		}
		d.req.Tools = append(d.req.Tools, Tool{Name: name, Description: t.Get("description").String(), Schema: schema.Raw})
	}
	if present(root.Get("tool_choice")) && len(root.Get("tools").Array()) == 0 {
		d.fail("", "tool_choice: may only be specified while providing tools")
	}
}

func (d *decoding) anthropicMessage(m gjson.Result, i int, last bool) {
	msg := Message{Role: m.Get("role").String()}
	switch msg.Role {
	case RoleUser, RoleAssistant:
	case RoleSystem:
		d.fail("", `messages: Unexpected role "system". The Messages API accepts a top-level `+"`system`"+` parameter, not "system" as an input message role.`)
	default:
		d.fail("", "messages.%d.role: Input should be 'user' or 'assistant'", i)
	}
	content := m.Get("content")
	blocks := content.Array()
	switch {
	case content.Type == gjson.String:
		msg.Text, blocks = content.Str, nil
	case !content.IsArray():
		d.fail("", "messages.%d.content: Input should be a valid string or list", i)
		blocks = nil
	}
	if msg.Text == "" && len(blocks) == 0 && !(last && msg.Role == RoleAssistant) {
		d.fail("", "messages.%d: all messages must have non-empty content except for the optional final assistant message", i)
	}
	var texts []string
	for j, b := range blocks {
		at := fmt.Sprintf("messages.%d.content.%d", i, j)
		if present(b.Get("cache_control")) {
			msg.Cached++
		}
		if b.Get("type").String() != "text" {
			d.anthropicBlock(&msg, b, at, len(texts) > 0)
			continue
		}
		text := b.Get("text")
		if text.Type != gjson.String {
			d.fail("", "%s.text.text: Field required", at)
		} else if text.Str == "" {
			d.fail("", "messages: text content blocks must be non-empty")
		}
		texts = append(texts, text.String())
	}
	if content.IsArray() {
		msg.Text = strings.Join(texts, "\n")
	}
	d.req.Messages = append(d.req.Messages, msg)
}

func (d *decoding) anthropicBlock(msg *Message, b gjson.Result, at string, afterText bool) {
	kind := b.Get("type").String()
	assistant := msg.Role == RoleAssistant
	switch {
	case kind == "tool_use" && assistant:
		d.toolUse(msg, b, at)
	case kind == "thinking" && assistant:
		text := b.Get("thinking").String()
		if b.Get("signature").String() != sign("thinking", text) {
			d.fail("", "%s: Invalid `signature` in `thinking` block", at)
		}
		msg.Reasoning += text
	case kind == "redacted_thinking" && assistant:
		if b.Get("data").String() == "" {
			d.fail("", "%s.redacted_thinking.data: Field required", at)
		}
	case kind == "tool_result" && !assistant:
		if afterText {
			d.fail("", "%s: `tool_result` blocks must come before other content in the message", at)
		}
		msg.ToolResults = append(msg.ToolResults, d.toolResult(msg, b, at))
	case (kind == "image" || kind == "document") && !assistant:
		d.anthropicSource(b, at)
		msg.Images++
	case kind == "tool_use" || kind == "tool_result" || kind == "thinking" || kind == "redacted_thinking" || kind == "image" || kind == "document":
		d.fail("", "messages: `%s` blocks cannot be in `%s` messages", kind, msg.Role)
	default:
		d.fail("", "%s: Input tag '%s' found using 'type' does not match any of the expected tags: 'document', 'image', 'redacted_thinking', 'text', 'thinking', 'tool_result', 'tool_use'", at, kind)
	}
}

func (d *decoding) toolUse(msg *Message, b gjson.Result, at string) {
	id, name, input := b.Get("id").String(), b.Get("name").String(), b.Get("input")
	switch {
	case !plainID.MatchString(id):
		d.fail("", "%s.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'", at)
	case !anthropicName.MatchString(name):
		d.fail("", "%s.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,200}$'", at)
	case !present(input):
		d.fail("", "%s.tool_use.input: Field required", at)
	case !input.IsObject():
		d.fail("", "%s.tool_use.input: Input should be a valid dictionary", at)
	}
	msg.ToolCalls = append(msg.ToolCalls, Call{ID: id, Name: name, Arguments: input.Raw})
}

func (d *decoding) toolResult(msg *Message, b gjson.Result, at string) Result {
	r := Result{CallID: b.Get("tool_use_id").String(), Error: b.Get("is_error").Bool()}
	content := b.Get("content")
	if content.Type == gjson.String || !present(content) {
		r.Text = content.String()
		return r
	}
	var texts []string
	for j, c := range content.Array() {
		switch c.Get("type").String() {
		case "text":
			if c.Get("text").String() == "" {
				d.fail("", "messages: text content blocks must be non-empty")
			}
			texts = append(texts, c.Get("text").String())
		case "image", "document":
			d.anthropicSource(c, fmt.Sprintf("%s.tool_result.content.%d", at, j))
			msg.Images++
		case "search_result", "tool_reference":
		default:
			d.fail("", "%s.tool_result.content.%d: Input tag '%s' does not match any of the expected tags", at, j, c.Get("type").String())
		}
	}
	r.Text = strings.Join(texts, "\n")
	return r
}

func (d *decoding) anthropicSource(b gjson.Result, at string) {
	if !b.Get("source").IsObject() {
		d.fail("", "%s.source: Field required", at)
	}
}
