package runcommand

import (
	"context"
	"errors"
	"testing"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/sandbox"
)

func TestCheckNetwork(t *testing.T) {
	t.Parallel()
	lookup := func(_ context.Context, host string) ([]string, error) {
		if host == "db" {
			return []string{"10.0.0.7"}, nil
		}
		return nil, errors.New("no such host")
	}
	for n, refused := range map[sandbox.Network]bool{
		"gopher": true, "open,gopher": true, "localhost": true, "127.0.0.1": true,
		"db": false, "unknown.example": false, ".corp": false, "open": false, "none": false, "": false, "wiki:443": false,
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
		"fix": false, "go fix the build": false, "update": false, "": false, "Update.": false, "fix,": false, "a/b.go": false,
	} {
		if got := MeantForNet(word); got != want {
			t.Errorf("%q: %v", word, got)
		}
	}
}
