package skill

import (
	"strings"

	"github.com/deft-dev/deft/internal/lazyregexp"
)

// MaxCommandOutput is how much of an inline command's output is used, in
// bytes.
const MaxCommandOutput = 50 << 10

// inline finds, in this order: fenced code, closed or not; an escaped command;
// code in a line; a command.
var inline = lazyregexp.New("(?s)```.*?(?:```|\\z)|\\\\!`[^`]+`|!`[^`]+`|`[^`]+`")

// Render returns a skill's content as the model reads it. Each !`command` outside
// of code is replaced by run's result for it; \!`command` becomes the text
// !`command`. With run nil nothing is run and commands stay unchanged: a
// repository's skills are only rendered with a runner when the user trusts the
// repository.
func Render(content string, run func(command string) string) string {
	return inline().ReplaceAllStringFunc(content, func(m string) string {
		switch {
		case strings.HasPrefix(m, "\\!`"):
			return m[1:]
		case strings.HasPrefix(m, "!`") && run != nil:
			out := strings.TrimSpace(run(m[2 : len(m)-1]))
			if len(out) > MaxCommandOutput {
				out = strings.ToValidUTF8(out[:MaxCommandOutput], "") + "\n… [the output is shortened]"
			}
			return out
		}
		return m
	})
}
