package cookies_test

import (
	"testing"

	"github.com/deft-dev/deft/internal/cookies"
)

func TestSets(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]bool{
		"": false, "a=1; Path=/": false, "a=deft_session=x": false, "deft_session=x": true, " __Host-Deft_Session = x; Path=/": true,
		"oh_workspace_session_key=; Max-Age=0": true, "=deft_session=x": true, " = a": false, "deft_session": true,
	} {
		if got := cookies.Sets(header); got != want {
			t.Errorf("%q: %v", header, got)
		}
	}
}

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
