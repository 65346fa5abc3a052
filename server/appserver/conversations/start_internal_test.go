package conversations

import (
	"strings"
	"testing"

	"github.com/deft-dev/deft/fault"
)

// TestCheckRepository names the right reason for an address that is not cloned.
func TestCheckRepository(t *testing.T) {
	t.Parallel()
	for repository, want := range map[string]string{
		"": "", "acme/api": "", "https://git.example/acme/api.git": "",
		"https://me:word@git.example/a/b": "no password", "https://me@git.example/a/b": "no user",
		"ssh://git@git.example/a/b": "none by SSH", "ssh://git.example/a/b": "none by SSH", "git@git.example:a/b.git": "none by SSH",
		"git://git.example/a/b": "https://", "http://git.example/a/b": "https://", "file:///etc": "https://",
	} {
		err := checkRepository(repository)
		if want == "" {
			if err != nil {
				t.Errorf("%s: %v", repository, err)
			}
		} else if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", repository, err, want)
		}
	}
}
