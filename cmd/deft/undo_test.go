package main

import (
	"strings"
	"testing"
)

// TestUndoList shows a message of two lines, which the list cuts after the first.
func TestUndoList(t *testing.T) {
	t.Parallel()
	b := newBench(t, `
  - {match: {user: second, tool_results: 0}, reply: {tool_calls: [{name: terminal, arguments: {command: "touch made"}}]}}
  - {match: {tool_results: 1}, reply: {tool_calls: [{name: finish, arguments: {message: "all done"}}]}}
`)
	b.run(t, 0, "run", "first\nsecond")
	out := b.run(t, 0, "undo", "--list")
	if line := strings.TrimSpace(out); !strings.HasSuffix(line, "  first …") || strings.Contains(line, "\n") {
		t.Errorf("got %q", out)
	}
}
