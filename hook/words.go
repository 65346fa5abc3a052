package hook

import (
	"fmt"
	"strings"
)

// Words describes the hooks, a line each, with every field that changes their effect. Nil has none.
func (c *Config) Words() (lines []string) {
	if c == nil {
		return nil
	}
	for _, event := range Events {
		for _, m := range c.Matchers(event) {
			when := event
			if m.Matcher != "" && m.Matcher != "*" {
				when += " of " + m.Matcher
			}
			for _, h := range m.Hooks {
				line := when + ": "
				switch h.Type {
				case Command:
					line += "runs " + h.Command
				case Prompt:
					line += "asks the model: " + *h.Prompt
				default:
					line += "starts an agent"
					if len(h.Tools) > 0 {
						line += " with " + strings.Join(h.Tools, ", ")
					}
					if h.SystemPrompt != nil {
						line += ": " + *h.SystemPrompt
					}
				}
				if h.Async {
					line += " (in the background)"
				}
				lines = append(lines, fmt.Sprintf("%s, %d s at most", line, int(h.timeout().Seconds())))
			}
		}
	}
	return lines
}
