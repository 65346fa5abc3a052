package runcommand

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/sandbox"
)

func TestCheckNetwork(t *testing.T) {
	t.Parallel()
	name, err := os.Hostname()
	must.Succeed(t, err)
	machine, _, _ := strings.Cut(strings.ToLower(name), ".")
	lookup := func(_ context.Context, host string) ([]string, error) {
		switch host {
		case "db":
			return []string{"10.0.0.7"}, nil
		case "me", machine + ".example.com":
			return []string{"127.0.1.1", "::1"}, nil
		case "both":
			return []string{"127.0.1.1", "10.0.0.7"}, nil
		}
		return nil, errors.New("no such host")
	}
	for n, refused := range map[sandbox.Network]bool{
		"gopher": true, "open,gopher": true, "localhost": true, "127.0.0.1": true,
		sandbox.Network(machine): true, sandbox.Network(machine + ".example.com"): true, sandbox.Network(machine + ".example.com:80"): true, "me": true, "me:80": true, "both": false,
		sandbox.Network(machine + ".other"): false, "db": false, "unknown.example": false, ".corp": false, "open": false, "none": false, "": false, "wiki:443": false,
	} {
		if err := CheckNetwork(t.Context(), n, lookup); fault.Is(err, fault.Invalid) != refused {
			t.Errorf("%s: %v", n, err)
		}
	}
}

func TestMeantForNet(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]bool{
		"go": true, "GO": true, "npm": true, "go,npm": true, "none": true, "open": true, "pypi.org": true, "go,pypi.org:443": true, ".corp": true, "10.1.2.3": true,
		"gopher": true, "fix": true, "update": true,
		"go fix the build": false, "": false, "fix,": false, "a/b.go": false, "--": false, "-q": false, "fix: it": false, "\u00fcbersetze": false,
	} {
		if got := MeantForNet(word); got != want {
			t.Errorf("%q: %v", word, got)
		}
	}
}
