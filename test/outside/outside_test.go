// Package outside builds and runs examples/outside, a module of its own
// that extends Deft without internal packages, as another project would.
package outside

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/internal/must"
)

const example = "../../examples/outside"

// command runs a program in dir and returns its output.
func command(t *testing.T, dir string, argv ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v", argv, err)
	}
	return string(out)
}

func TestModule(t *testing.T) {
	t.Parallel()
	command(t, example, "go", "vet", "./...")
	program := filepath.Join(t.TempDir(), "outside")
	command(t, example, "go", "build", "-o", program, ".")

	workspace := t.TempDir()
	must.Succeed(t, os.WriteFile(filepath.Join(workspace, "notes.txt"), []byte("one two\nthree\n"), 0o600))
	for file, want := range map[string]string{
		"notes.txt": `user: notes.txt
agent calls count_words {"path":"notes.txt"}
count_words: notes.txt has 3 words
agent: notes.txt has 3 words
status: finished
`,
		"../notes.txt": `user: ../notes.txt
agent calls count_words {"path":"../notes.txt"}
count_words: cannot count: openat ../notes.txt: path escapes from parent
agent: cannot count: openat ../notes.txt: path escapes from parent
status: finished
`,
	} {
		if diff := cmp.Diff(want, command(t, workspace, program, file)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
}
