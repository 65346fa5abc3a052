package llmtest

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// matcher is a compiled [Match].
type matcher struct {
	Match
	user, toolResult *regexp.Regexp
}

func compileMatch(m *Match) (*matcher, error) {
	if m == nil {
		return nil, nil
	}
	c := &matcher{Match: *m}
	var err error
	if m.UserRegexp != "" {
		if c.user, err = regexp.Compile(m.UserRegexp); err != nil {
			return nil, fmt.Errorf("user_regexp: %w", err)
		}
	}
	if m.ToolResultRegexp != "" {
		if c.toolResult, err = regexp.Compile(m.ToolResultRegexp); err != nil {
			return nil, fmt.Errorf("tool_result_regexp: %w", err)
		}
	}
	if _, err := path.Match(m.Model, ""); err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	switch m.Protocol {
	case "", OpenAIChat, OpenAIResponses, Anthropic, Gemini:
	default:
		return nil, fmt.Errorf("unknown protocol %q", m.Protocol)
	}
	if m.Call != nil && *m.Call < 1 {
		return nil, errors.New("call counts from 1")
	}
	return c, nil
}

// fits returns "" if the request fits, else the first condition that fails.
func (m *matcher) fits(r *Request) string {
	if m == nil {
		return ""
	}
	switch {
	case m.Model != "" && !glob(m.Model, r.Model):
		return "model"
	case m.Protocol != "" && m.Protocol != r.Protocol:
		return "protocol"
	case m.Session != "" && m.Session != r.Session:
		return "session"
	case m.Stream != nil && *m.Stream != r.Stream:
		return "stream"
	case m.Call != nil && *m.Call != r.Call:
		return "call"
	case m.ToolResults != nil && *m.ToolResults != r.toolResults:
		return "tool_results"
	case m.AssistantTurns != nil && *m.AssistantTurns != r.assistantTurns:
		return "assistant_turns"
	case !strings.Contains(r.System, m.System):
		return "system"
	}
	return m.fitsTexts(r)
}

func (m *matcher) fitsTexts(r *Request) string {
	if m.User != "" && !strings.Contains(r.LastUser(), m.User) {
		return "user"
	}
	if m.user != nil && !m.user.MatchString(r.LastUser()) {
		return "user_regexp"
	}
	if m.ToolResult != "" && !strings.Contains(r.LastToolResult(), m.ToolResult) {
		return "tool_result"
	}
	if m.toolResult != nil && (r.toolResults == 0 || !m.toolResult.MatchString(r.LastToolResult())) {
		return "tool_result_regexp"
	}
	for _, name := range m.Tools {
		if !slices.ContainsFunc(r.Tools, func(t Tool) bool { return t.Name == name }) {
			return "tools"
		}
	}
	for name, want := range m.Headers {
		values := r.Headers.Values(name)
		if len(values) == 0 || !strings.Contains(strings.Join(values, ","), want) {
			return "headers"
		}
	}
	return ""
}

func glob(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return err == nil && ok
}
