package licenses_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/licenses"
	"github.com/deft-dev/deft/internal/must"
)

// TestLinkedModules wants a licence for each module of the binary.
func TestLinkedModules(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}{{end}}{{end}}",
		"github.com/deft-dev/deft/cmd/deft").Output()
	must.Succeed(t, err)
	modules := strings.Fields(strings.ReplaceAll(strings.TrimSpace(string(out)), " ", "@"))
	if len(modules) < 10 {
		t.Fatalf("only %d modules are listed", len(modules))
	}
	for _, m := range modules {
		if name := strings.Replace(m, "@", " ", 1); !strings.Contains(licenses.Text, "\n"+name+" (") {
			t.Errorf("%s has no licence: run go generate ./internal/licenses", name)
		}
	}
	for _, part := range []string{"\nDeft (LICENSE)\n", "\nGo (LICENSE)\n", "Permission is hereby granted"} {
		if !strings.Contains(licenses.Text, part) {
			t.Errorf("%q is missing", part)
		}
	}
}
