package signalscope

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/internal/landlock"
	"github.com/deft-dev/deft/internal/must"
)

// TestCommand: only where there is a right to give up is a command started by way of this
// binary.
func TestCommand(t *testing.T) {
	t.Parallel()
	status, err := os.ReadFile("/proc/self/status")
	must.Succeed(t, err)
	abi, err := landlock.ABI()
	scoped := err == nil && abi >= landlock.ScopeABI && strings.Contains(string(status), "NoNewPrivs:\t1")
	want := []string{"/bin/sh", "sh", "-i"}
	if scoped {
		want = []string{"/proc/self/exe", "deft", Arg, "/bin/sh", "sh", "-i"}
	}
	path, args := Command("/bin/sh", []string{"sh", "-i"})
	if diff := cmp.Diff(want, append([]string{path}, args...)); diff != "" {
		t.Errorf("command (-want +got):\n%s", diff)
	}
}
