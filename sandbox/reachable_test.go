package sandbox_test

import (
	"slices"
	"testing"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/sandbox"
)

func TestCheckNetwork(t *testing.T) {
	t.Parallel()
	for _, n := range []sandbox.Network{
		"localhost", ".localhost", "a.org,app.localhost:8080", "127.0.0.1", "open,127.1.2.3", "[::1]:80", "0.0.0.0", "169.254.169.254", "fe80::1", "224.0.0.1",
	} {
		if err := n.Check(); !fault.Is(err, fault.Invalid) || fault.HintOf(err) == "" {
			t.Errorf("%s: %v", n, err)
		}
	}
	for _, n := range []sandbox.Network{"", "none", "open", "a.org", "open,wiki.corp", "10.1.2.3", "fd00::7", "localhost.example.com"} {
		if err := n.Check(); err != nil {
			t.Errorf("%s: %v", n, err)
		}
	}
	if got, want := sandbox.Network("open,.corp,a.org,db,gopher,wiki:443").ShortNames(), []string{"db", "gopher"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
