package doctor

import (
	"fmt"
	"io"
	"strings"

	"github.com/deft-dev/deft/cli/console"
)

// Print writes the report for a person: a line for each check with a mark, the next
// step below it, and the trials in the sandbox. It returns w's first error.
func (r Report) Print(w io.Writer, color bool) error {
	var b strings.Builder
	for _, c := range r.Checks {
		fmt.Fprintf(&b, "%s %-16s %s\n", mark(c.State, color), c.Name, console.Line(c.Text))
		if c.Next != "" {
			fmt.Fprintf(&b, "  %-16s → %s\n", "", console.Line(c.Next))
		}
	}
	if r.Isolation != nil {
		for _, m := range r.Isolation.Missing {
			fmt.Fprintf(&b, "  %-16s not in force: %s\n", m.Feature, console.Line(m.Reason))
		}
		if len(r.Isolation.Bounds) > 0 {
			b.WriteString("  a sandbox may use, without --memory, --pids and --cpus:\n")
		}
		for _, bound := range r.Isolation.Bounds {
			fmt.Fprintf(&b, "  - %-20s %s\n", bound.Resource, console.Line(bound.Value))
		}
		if len(r.Attempts) > 0 {
			fmt.Fprintf(&b, "  tried %d forbidden things inside:\n", len(r.Attempts))
		}
		for _, a := range r.Attempts {
			fmt.Fprintf(&b, "  %s %-20s %s\n", console.Mark(a.OK, color), a.Name, console.Line(a.Detail))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func mark(s State, color bool) string {
	if s == Warning {
		return console.WarningMark(color)
	}
	return console.Mark(s == OK, color)
}
