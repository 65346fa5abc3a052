package llm_test

import (
	"testing"

	"github.com/deft-dev/deft/llm"
)

func TestToolChoiceFor(t *testing.T) {
	t.Parallel()
	words := []string{"auto", "none", "required"}
	for _, tt := range []struct {
		takes        []string
		wanted, want string
	}{
		{nil, "", ""}, {nil, "required", "required"}, {nil, "terminal", "terminal"},
		{words, "none", "none"}, {words, "terminal", ""}, {words[:2], "required", ""},
		{append(words, "named"), "terminal", "terminal"}, {words, "", ""},
		{words, "named", ""}, // a tool of that name
	} {
		if got := (llm.Quirks{ToolChoices: tt.takes}).ToolChoiceFor(tt.wanted); got != tt.want {
			t.Errorf("%v: choice %q is %q, want %q", tt.takes, tt.wanted, got, tt.want)
		}
	}
}
