package title_test

import (
	"testing"

	"github.com/deft-dev/deft/session/internal/title"
)

func TestFill(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, own, want string }{
		{"with places", "{max_length}: {conversation_content}!", "9: text!"},
		{"without a place", "  Name it. ", "Name it.\n\ntext"},
	} {
		if got := title.Fill(tt.own, "text", 9); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	if blank, builtin := title.Fill(" \n", "text", 9), title.Fill("", "text", 9); blank != builtin || blank == "" {
		t.Errorf("a blank prompt gives %q, none %q", blank, builtin)
	}
}

func TestClean(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, answer, want string }{
		{"one line", " \"Fix tests\" \nbecause they fail", "Fix tests"},
		{"after thinking", "<think>hm\nhm</think>\nFix it", "Fix it"},
		{"thinking without end", "<think>hm", ""},
		{"long", "Fix the failing test", "Fix the..."},
		{"blanks", "Fix \t  it", "Fix it"},
	} {
		if got := title.Clean(tt.answer, 10); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
