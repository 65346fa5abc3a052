package sandbox_test

import (
	"maps"
	"os"
	"strings"
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
	want := map[string]bool{"a.org": false, "db": true, "gopher": true, "wiki": false}
	if got := sandbox.Network("open,.corp,a.org,db,gopher,wiki:443").Names(); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestOwnName: this machine by its own host name.
func TestOwnName(t *testing.T) {
	t.Parallel()
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	short, _, _ := strings.Cut(name, ".")
	for _, n := range []string{name, strings.ToUpper(name), name + ":8080", short, short + ".local", "open," + name} {
		parsed, err := sandbox.ParseNetwork(n)
		if err != nil {
			t.Fatal(err)
		}
		if err := parsed.Check(); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", n, err)
		}
	}
	if err := sandbox.Network("." + short + ".example").Check(); err != nil { // names below it are other hosts
		t.Error(err)
	}
}
