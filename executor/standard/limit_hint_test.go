package standard

import (
	"strings"
	"testing"
)

// TestLimitHint names the flag of a limit that a command has reached.
func TestLimitHint(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		command, output string
		status          int
		want            string
	}{
		{"make", "Killed", 137, "--memory"},
		{"make", "done", 0, ""},
		{"make", "Killed", 1, ""},
		{"sleep 9 & kill -9 $!; wait $!", "Killed", 137, ""},
		{"./many", "bash: fork: retry: Resource temporarily unavailable\nok", 0, "--pids"},
		{"python3 x.py", "RuntimeError: can't start new thread", 1, "--pids"},
		{"go build", "runtime: failed to create new OS thread (have 12 already; errno=11)", 2, "--pids"},
		{"cat pipe", "cat: pipe: Resource temporarily unavailable", 1, ""},
		{"./many", "fork: Resource temporarily unavailable" + strings.Repeat("\nlater", 10000), 0, ""},
	} {
		if got := limitHint(c.command, c.output, c.status); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s, %.40s: %q, want %q", c.command, c.output, got, c.want)
		}
	}
}
