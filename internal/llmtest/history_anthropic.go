package llmtest

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// anthropicHistory checks the order of roles, and that every tool_use has one
// result, in the next message.
func (d *decoding) anthropicHistory() {
	for i := range d.req.Messages {
		m := &d.req.Messages[i]
		var before *Message
		if i > 0 {
			before = &d.req.Messages[i-1]
		}
		if before == nil && m.Role != RoleUser {
			d.fail("", "messages: first message must use the \"user\" role")
		}
		if before != nil && before.Role == m.Role {
			d.fail("", "messages: roles must alternate between \"user\" and \"assistant\", but found multiple %q roles in a row", m.Role)
		}
		d.resultsFit(i, before, m)
		if i == len(d.req.Messages)-1 && len(m.ToolCalls) > 0 {
			d.unanswered(i, m.ToolCalls)
		}
	}
}

// resultsFit compares the tool results of message i with the calls before it.
func (d *decoding) resultsFit(i int, before, m *Message) {
	open := map[string]bool{}
	if before != nil {
		for _, c := range before.ToolCalls {
			if open[c.ID] {
				d.fail("", "messages.%d: `tool_use` ids must be unique", i-1)
			}
			open[c.ID] = true
		}
	}
	answered := map[string]bool{}
	for j, r := range m.ToolResults {
		switch {
		case answered[r.CallID]:
			d.fail("", "messages.%d.content.%d: each tool_use must have a single result. Found multiple `tool_result` blocks with id: %s", i, j, r.CallID)
		case !open[r.CallID]:
			d.fail("", "messages.%d.content.%d: unexpected `tool_use_id` found in `tool_result` blocks: %s. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.", i, j, r.CallID)
		}
		answered[r.CallID] = true
		delete(open, r.CallID)
	}
	if len(open) > 0 {
		var left []Call
		for _, id := range sortedKeys(open) {
			left = append(left, Call{ID: id})
		}
		d.unanswered(i-1, left)
	}
}

func (d *decoding) unanswered(i int, calls []Call) {
	ids := make([]string, len(calls))
	for k, c := range calls {
		ids[k] = c.ID
	}
	d.fail("", "messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s. Each `tool_use` block must have a corresponding `tool_result` block in the next message.", i, strings.Join(ids, ", "))
}

// anthropicThinking checks that the assistant messages of the current tool loop
// still begin with their thinking. It checks only calls that this server made
// with reasoning, since a script may have none.
func (d *decoding) anthropicThinking(items []gjson.Result) {
	for i, item := range slices.Backward(items) {
		blocks := item.Get("content").Array()
		if item.Get("role").String() == RoleUser {
			if len(d.req.Messages[i].ToolResults) == 0 {
				return // the tool loop began after this message
			}
			continue
		}
		if len(blocks) == 0 {
			continue
		}
		first := blocks[0].Get("type").String()
		if first == "thinking" || first == "redacted_thinking" {
			continue
		}
		for _, c := range d.req.Messages[i].ToolCalls {
			if hasReasoningMark(c.ID) {
				d.fail("", "messages.%d.content.0.type: Expected `thinking` or `redacted_thinking`, but found `%s`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks).", i, first)
			}
		}
	}
}

// countCacheControl counts the blocks with cache_control.
func countCacheControl(root object) (n int) {
	count := func(blocks gjson.Result) {
		if !blocks.IsArray() {
			return
		}
		for _, b := range blocks.Array() {
			if present(b.Get("cache_control")) {
				n++
			}
			for _, c := range b.Get("content").Array() {
				if c.IsObject() && present(c.Get("cache_control")) {
					n++
				}
			}
		}
	}
	count(root.Get("tools"))
	count(root.Get("system"))
	for _, m := range root.Get("messages").Array() {
		count(m.Get("content"))
	}
	if present(root.Get("cache_control")) {
		n++
	}
	return n
}
