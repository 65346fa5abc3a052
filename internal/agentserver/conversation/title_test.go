package conversation_test

import (
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/agentserver/conversation"
)

func TestTitlePrompt(t *testing.T) {
	t.Parallel()
	for prompt, want := range map[string]string{
		"Name: {conversation_content} ({max_length})": "Name: fix it (20)",
		"Name it.":                           "Name it.\n\nfix it",
		"  Up to {max_length}, in German.  ": "Up to 20, in German.\n\nfix it",
	} {
		if got := conversation.FillTitlePrompt(prompt, "fix it", 20); got != want {
			t.Errorf("%q: got %q, want %q", prompt, got, want)
		}
	}
	for _, blank := range []string{"", " \n"} {
		got := conversation.FillTitlePrompt(blank, "fix {max_length}", 20)
		if !strings.Contains(got, "20") || !strings.HasSuffix(got, "fix {max_length}") {
			t.Errorf("%q: got %q", blank, got)
		}
	}
}

func TestCleanTitle(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"Fix the test":                           "Fix the test",
		"\"Fix it\"\n":                           "Fix it",
		"Fix it\nBecause":                        "Fix it",
		"<think>What is it?</think>\n  'Fix it'": "Fix it",
		"<think>never closed":                    "",
		"A title that is much longer than what was wanted": "A title that is m...",
	} {
		if got := conversation.CleanTitle(said, 20); got != want {
			t.Errorf("%q: got %q, want %q", said, got, want)
		}
	}
}
