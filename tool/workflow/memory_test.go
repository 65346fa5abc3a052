//go:build !race

package workflow_test

import (
	"strings"
	"testing"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/tool/workflow"
)

// TestHostileScripts ends scripts that use memory without end.
func TestHostileScripts(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"doubling": "def main(wf):\n  x = 'x'\n  for i in range(40):\n    x = x + x\n  return x",
		"nesting":  "def main(wf):\n  x = []\n  for i in range(40):\n    x = [x, x]\n  return str(x)",
		"list":     "def main(wf):\n  return len(list(range(1 << 30)))",
	} {
		if got, err := workflow.Run(t.Context(), script, 8, echo); !fault.Is(err, fault.Limit) || !strings.Contains(err.Error(), "memory") {
			t.Errorf("%s: %.100q, %v", name, got, err)
		}
	}
}
