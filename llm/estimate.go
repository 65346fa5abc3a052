package llm

import (
	"unicode/utf8"

	"github.com/deft-dev/deft/event"
)

// Costs of parts of a prompt in tokens of current models, on the high side,
// since the estimate guards limits.
const (
	perMessage = 4     // tokens of framing
	perTool    = 12    // tokens of framing
	perImage   = 1_600 // tokens: the largest image that Anthropic does not shrink
)

// EstimateTokens estimates the tokens of a prompt. It is the sum of
// [EstimateMessage] and [EstimateTool], so callers can keep the sum and add new
// messages. It is 10 to 30 % too high for English and code; correct it by the
// last reported usage.
func EstimateTokens(msgs []event.Message, tools []Tool) int {
	n := 0
	for i := range msgs {
		n += EstimateMessage(&msgs[i])
	}
	for i := range tools {
		n += EstimateTool(&tools[i])
	}
	return n
}

// EstimateMessage estimates one message, with its calls and its reasoning.
func EstimateMessage(m *event.Message) int {
	n := perMessage + EstimateText(m.ReasoningContent)
	for i := range m.Content {
		n += EstimateText(m.Content[i].Text) + perImage*len(m.Content[i].ImageURLs)
	}
	for i := range m.ToolCalls {
		c := &m.ToolCalls[i]
		n += perTool + EstimateText(c.Name) + EstimateText(c.Arguments)
	}
	if m.ReasoningContent == "" {
		for i := range m.ThinkingBlocks {
			b := &m.ThinkingBlocks[i]
			n += EstimateText(b.Thinking) + len(b.Data)/4
		}
	}
	return n
}

// EstimateTool estimates one tool definition.
func EstimateTool(t *Tool) int {
	return perTool + EstimateText(t.Name) + EstimateText(t.Description) + len(t.Parameters)/4
}

// EstimateText estimates a text: 3.5 ASCII bytes to the token, two characters
// of other alphabets, one CJK character or emoji.
func EstimateText(s string) int {
	ascii, letters, wide := 0, 0, 0
	for i := 0; i < len(s); {
		if i+8 <= len(s) && (s[i]|s[i+1]|s[i+2]|s[i+3]|s[i+4]|s[i+5]|s[i+6]|s[i+7]) < utf8.RuneSelf {
			ascii += 8
			i += 8
			continue
		}
		if s[i] < utf8.RuneSelf {
			ascii++
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r < 0x2E80 {
			letters++
		} else {
			wide++
		}
		i += size
	}
	return (ascii*2+6)/7 + (letters+1)/2 + wide
}
