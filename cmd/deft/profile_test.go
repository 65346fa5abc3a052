package main

import (
	"strings"
	"testing"
)

// TestProfileList lists the uses of a profile as --for names them.
func TestProfileList(t *testing.T) {
	t.Parallel()
	b := newBench(t, "  - {reply: {text: unused}}\n")
	b.run(t, 0, "llm", "profile", "set", "fast", "--model", "openai/fast")
	b.run(t, 0, "llm", "profile", "use", "fast", "--for", "titles")
	b.run(t, 0, "llm", "profile", "use", "fast", "--for", "agent:CodeActAgent")
	if out := b.run(t, 0, "llm", "profile", "list"); !strings.Contains(out, "titles agent:CodeActAgent") {
		t.Errorf("got %q", out)
	}
}
