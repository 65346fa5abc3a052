package policy_test

import (
	"context"
	"os/exec"
	"strings"
	"testing"
)

// stages are packages that become another program, or start one, while they are initialized. Go
// initializes packages as soon as their imports are, so these imports delay each start of a
// sandbox or of a command in it.
var stages = []string{
	"./sandbox/process/internal/inside", "./sandbox/docker/internal/inside", commandStage,
	"./sandbox/internal/earlyshell",
}

// commandStage runs before each command, and before all other modules are initialized:
// paths with "golang.org" come after paths with "github.com", if that is ready.
const commandStage = "./sandbox/internal/signalscope"

// TestStagesImportLittle refuses imports that take long to initialize, or come late in the
// order of paths that decides between packages that could be next.
func TestStagesImportLittle(t *testing.T) {
	t.Parallel()
	for _, stage := range stages {
		cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "go", "list", "-deps", stage)
		cmd.Dir = "../.."
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(stage, err)
		}
		for imported := range strings.FieldsSeq(string(out)) {
			first, _, _ := strings.Cut(imported, "/")
			switch {
			case first == "net", first == "crypto", first == "vendor", first == "regexp", first == "text", imported == "log/slog":
				t.Errorf("%s depends on %s, which delays each start of a sandbox", stage, imported)
			case stage == commandStage && (imported == "fmt" || imported == "golang.org/x/sys/unix"):
				t.Errorf("%s depends on %s, which delays each command", stage, imported)
			case strings.Contains(first, ".") && imported != "golang.org/x/sys/unix" && !strings.HasPrefix(imported, "github.com/deft-dev/deft/"):
				t.Errorf("%s depends on the module of %s, which delays each start of a sandbox", stage, imported)
			}
		}
	}
}
