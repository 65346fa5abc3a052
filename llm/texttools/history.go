package texttools

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/llm"
)

// resultOf is the beginning of a tool's result, which the model sees as a user
// message.
const resultOf = "EXECUTION RESULT of ["

// convert writes a normalized history as text: the suffix after the system
// prompt, calls in the text of their message, results as user messages.
// Consecutive messages of one role are merged, since the chat templates of
// small models require alternating roles.
func convert(msgs []event.Message, suffix string) []event.Message {
	c := conversion{out: make([]event.Message, 0, len(msgs)+1)}
	c.add(c.begin(msgs, suffix))
	return c.out
}

// begin writes the system prompt and returns the messages after it.
func (c *conversion) begin(msgs []event.Message, suffix string) []event.Message {
	if suffix == "" {
		return msgs
	}
	c.out = append(c.out, withSuffix(msgs, suffix))
	if len(msgs) > 0 && msgs[0].Role == event.RoleSystem {
		return msgs[1:]
	}
	return msgs
}

// add appends further messages.
func (c *conversion) add(msgs []event.Message) {
	for i := range msgs {
		m := msgs[i]
		switch m.Role {
		case event.RoleAssistant:
			m = callsAsText(m)
		case event.RoleTool:
			m = resultAsText(m)
		}
		last := len(c.out) - 1
		if last < 0 || c.out[last].Role != m.Role || m.Role == event.RoleSystem {
			c.out, c.merged = append(c.out, m), false
			continue
		}
		if !c.merged {
			c.out[last].Content = slices.Clone(c.out[last].Content)
			c.merged = true
		}
		c.out[last].Content = append(c.out[last].Content, m.Content...)
	}
}

// withSuffix returns the system message with the suffix in its first block,
// which providers cache.
func withSuffix(msgs []event.Message, suffix string) event.Message {
	if len(msgs) == 0 || msgs[0].Role != event.RoleSystem {
		return event.Message{Role: event.RoleSystem, Content: event.Texts(suffix)}
	}
	m := msgs[0]
	m.Content = slices.Clone(m.Content)
	for i := range m.Content {
		if m.Content[i].Type == event.TypeText {
			m.Content[i].Text = strings.TrimRight(m.Content[i].Text, "\n") + "\n\n" + suffix
			return m
		}
	}
	m.Content = append(m.Content, event.Text(suffix))
	return m
}

// callsAsText writes the calls of an assistant's message into its text.
func callsAsText(m event.Message) event.Message {
	if len(m.ToolCalls) == 0 {
		return m
	}
	var b strings.Builder
	for _, c := range m.ToolCalls {
		b.Grow(len(c.Arguments) + 2*len(c.Name) + 128)
	}
	for i, c := range m.ToolCalls {
		if i > 0 {
			b.WriteByte('\n')
		}
		writeCall(&b, c.Name, c.Arguments)
	}
	content := make(event.List[event.Content], 0, len(m.Content)+1)
	m.Content = append(append(content, m.Content...), event.Text(b.String()))
	m.ToolCalls = nil
	return m
}

// writeCall writes a call in the form that the prompt describes.
func writeCall(b *strings.Builder, name, arguments string) {
	b.WriteString("<function=" + name + ">\n")
	if !gjson.Valid(arguments) || !strings.HasPrefix(arguments, "{") {
		arguments = string(llm.ArgumentsObject(arguments))
	}
	gjson.Parse(arguments).ForEach(func(key, value gjson.Result) bool {
		text := value.Raw
		if value.Type == gjson.String {
			text = value.Str
		}
		b.WriteString("<parameter=" + key.Str + ">")
		if strings.Contains(text, "\n") {
			text = "\n" + text + "\n"
		}
		b.WriteString(text + "</parameter>\n")
		return true
	})
	b.WriteString("</function>")
}

// resultAsText writes a tool's result as a user message.
func resultAsText(m event.Message) event.Message {
	head := event.Text(resultOf + m.Name + "]:")
	content := make(event.List[event.Content], 0, len(m.Content)+1)
	content = append(append(content, head), m.Content...)
	if len(m.Content) == 0 {
		content = append(content, event.Text("(no output)"))
	}
	return event.Message{Role: event.RoleUser, Content: content}
}
