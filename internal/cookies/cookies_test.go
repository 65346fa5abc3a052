package cookies_test

import (
	"testing"

	"github.com/deft-dev/deft/internal/cookies"
)

func TestStrip(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]string{
		"":                         "",
		"a=1; b=2":                 "a=1; b=2",
		"deft_session=x":           "",
		"a=1; deft_session=x;b=2":  "a=1; b=2",
		"__Host-deft_session=x":    "",
		"DEFT_SESSION = x; c":      "c",
		"oh_workspace_session_key": "",
		`a="deft_session"`:         `a="deft_session"`,
	} {
		if got := cookies.Strip(header); got != want {
			t.Errorf("%q: %q, want %q", header, got, want)
		}
	}
}
