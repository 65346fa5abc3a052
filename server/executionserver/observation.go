package executionserver

import (
	"fmt"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/server/v0event"
)

// maxOutput is how many characters of output an observation has, unless its command
// was hidden.
const maxOutput = 30_000

// observation is one of the reference's first generation.
type observation = v0event.Observation

func failed(format string, args ...any) observation {
	return v0event.Failed(fmt.Sprintf(format, args...), "")
}

// edited has the reference's old_str and new_str, not the file's versions.
func edited(a arguments, content, diff string) observation {
	return v0event.Edited(*a.Path, false, a.OldStr, a.NewStr, content, diff)
}

// ran makes the observation of a command.
func ran(a arguments, o *event.TerminalObservation) observation {
	content := event.JoinText(o.Content)
	if !a.Hidden {
		content = shorten(content)
	}
	return v0event.Ran(*a.Command, a.Hidden, content, o.Metadata)
}

// shorten leaves out the middle of long output, as the reference does.
func shorten(s string) string {
	if len(s) <= maxOutput {
		return s
	}
	r := []rune(s)
	if len(r) <= maxOutput {
		return s
	}
	return strings.Join([]string{string(r[:maxOutput/2]), string(r[len(r)-maxOutput/2:])}, "\n[... Observation truncated due to length ...]\n")
}
