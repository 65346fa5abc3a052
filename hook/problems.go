package hook

import "fmt"

// Problems names the mistakes of hooks that can be used all the same, a line each, with their effect. Nil has none.
func (c *Config) Problems() (lines []string) {
	if c == nil {
		return nil
	}
	for _, event := range Events {
		for _, m := range c.Matchers(event) {
			say := func(format string, args ...any) {
				lines = append(lines, "hooks at "+event+": "+fmt.Sprintf(format, args...))
			}
			_, explicit, err := m.expression()
			switch {
			case m.all():
			case event != PreToolUse && event != PostToolUse:
				say("the matcher %q keeps them from running, because %s has no tool; leave it out", m.Matcher, event)
			case err != nil && explicit:
				say("they never run, because the matcher %q is no regular expression: %s", m.Matcher, err)
			case err != nil:
				say("the matcher %q is taken for the name of a tool, because it is no regular expression: %s", m.Matcher, err)
			}
			if !m.all() && (event == PreToolUse || event == PostToolUse) {
				for _, line := range m.claudeNames() {
					say("%s", line)
				}
			}
			for _, h := range m.Hooks {
				if h.Timeout <= 0 {
					say("the timeout of %s is %d; it is ended after %s", h.Title(), h.Timeout, h.timeout())
				}
				if h.Type == Agent && h.MaxIterations <= 0 {
					say("the max_iterations of %s are %d; it is given %d", h.Title(), h.MaxIterations, h.Iterations())
				}
			}
		}
	}
	return lines
}

// Problems are the [Config.Problems] of the hooks as they are now.
func (r *Runner) Problems() []string {
	if r == nil {
		return nil
	}
	return r.Present().Problems()
}
