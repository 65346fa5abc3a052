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
	user *regexp.Regexp
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

// fits reports whether the request fits.
func (m *matcher) fits(r *Request) bool {
	return m == nil ||
		(m.Model == "" || glob(m.Model, r.Model)) &&
			(m.Protocol == "" || m.Protocol == r.Protocol) &&
			(m.Session == "" || m.Session == r.Session) &&
			is(m.Stream, r.Stream) && is(m.Call, r.Call) && is(m.ToolResults, r.toolResults) && is(m.AssistantTurns, r.assistantTurns) &&
			strings.Contains(r.System, m.System) && strings.Contains(r.LastUser(), m.User) &&
			(m.user == nil || m.user.MatchString(r.LastUser())) &&
			strings.Contains(r.LastToolResult(), m.ToolResult) && m.offers(r) && m.hasHeaders(r)
}

// is reports whether a value is the wanted one; nil wants any.
func is[T comparable](want *T, got T) bool { return want == nil || *want == got }

func (m *matcher) offers(r *Request) bool {
	for _, name := range m.Tools {
		if !slices.ContainsFunc(r.Tools, func(t Tool) bool { return t.Name == name }) {
			return false
		}
	}
	return true
}

func (m *matcher) hasHeaders(r *Request) bool {
	for name, want := range m.Headers {
		values := r.Headers.Values(name)
		if len(values) == 0 || !strings.Contains(strings.Join(values, ","), want) {
			return false
		}
	}
	return true
}

func glob(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return err == nil && ok
}
