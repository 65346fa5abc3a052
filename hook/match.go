package hook

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
)

// The events of a conversation at which hooks run, as [Input] and HookExecutionEvent name them.
const (
	PreToolUse       = "PreToolUse"
	PostToolUse      = "PostToolUse"
	UserPromptSubmit = "UserPromptSubmit"
	SessionStart     = "SessionStart"
	SessionEnd       = "SessionEnd"
	Stop             = "Stop"
)

// Events are all of them, in the order of a conversation.
var Events = []string{SessionStart, UserPromptSubmit, PreToolUse, PostToolUse, Stop, SessionEnd}

// Matchers returns the matchers for an event.
func (c *Config) Matchers(event string) []Matcher { return *c.lists()[event] }

// Add adds a matcher for an event, behind those that are there.
func (c *Config) Add(event string, m Matcher) {
	list := c.lists()[event]
	*list = append(*list, m)
}

// lists returns the matchers by event.
func (c *Config) lists() map[string]*[]Matcher {
	return map[string]*[]Matcher{
		PreToolUse: &c.PreToolUse, PostToolUse: &c.PostToolUse, UserPromptSubmit: &c.UserPromptSubmit,
		SessionStart: &c.SessionStart, SessionEnd: &c.SessionEnd, Stop: &c.Stop,
	}
}

// For returns the hooks for an event, in the order in which they run. tool is the name of the
// event's tool; empty for events without one.
func (c *Config) For(event, tool string) (hooks []Hook) {
	for _, m := range c.Matchers(event) {
		if m.matches(tool) {
			hooks = append(hooks, m.Hooks...)
		}
	}
	return hooks
}

// matches reports whether the hooks run for a tool. A matcher between slashes, or with a
// character that only regular expressions have, is an expression for the whole name; one that
// is no valid expression is a name (docs/openhands/sdk-features.md section 6).
func (m Matcher) matches(tool string) bool {
	if m.all() {
		return true
	}
	if tool == "" {
		return false
	}
	switch re, explicit, err := m.expression(); {
	case re != nil:
		return re.MatchString(tool)
	case err != nil && explicit:
		return false
	}
	return m.Matcher == tool
}

// all reports whether the hooks run for all tools.
func (m Matcher) all() bool { return m.Matcher == "" || m.Matcher == "*" }

// expression returns the regular expression of a matcher, nil for a name. explicit says that it stands between slashes.
func (m Matcher) expression() (re *regexp.Regexp, explicit bool, err error) {
	pattern := m.Matcher
	if n := len(pattern); n > 2 && pattern[0] == '/' && pattern[n-1] == '/' {
		pattern, explicit = pattern[1:n-1], true
	}
	if explicit || strings.ContainsAny(pattern, `|.*+?[]()^$\`) {
		re, err = regexp.Compile(`^(?:` + pattern + `)$`)
	}
	if in, ok := errors.AsType[*syntax.Error](err); ok {
		err = errors.New(in.Code.String())
	}
	return re, explicit, err
}

// Merge joins configurations; hooks of earlier ones run first. Nil if there are no hooks.
func Merge(all ...*Config) *Config {
	merged := &Config{}
	to := merged.lists()
	for _, list := range to {
		*list = []Matcher{} // null is no list
	}
	for _, c := range all {
		if c == nil {
			continue
		}
		for event, list := range c.lists() {
			*to[event] = append(*to[event], *list...)
		}
	}
	if merged.Empty() {
		return nil
	}
	return merged
}

// Without returns the configuration without some hooks; nil if none are left.
func (c *Config) Without(drop func(Hook) bool) *Config {
	if c == nil {
		return nil
	}
	left := &Config{}
	to := left.lists()
	for _, event := range Events {
		for _, m := range c.Matchers(event) {
			m.Hooks = slices.DeleteFunc(slices.Clone(m.Hooks), drop)
			if len(m.Hooks) > 0 {
				*to[event] = append(*to[event], m)
			}
		}
	}
	return Merge(left)
}
