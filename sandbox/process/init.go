package process

import (
	"os"

	_ "github.com/deft-dev/deft/sandbox/internal/earlyshell" // action servers have their shell early
	"github.com/deft-dev/deft/sandbox/internal/egresslisten"
)

// ProbeArg is the hidden first argument that makes the binary try everything that a
// sandbox must refuse.
const ProbeArg = "sandbox-probe"

// MaybeInit must be the first statement of main in a binary that starts
// sandboxes, and of TestMain in its tests. It returns at once unless this
// process was started as a keeper, a probe or a sandbox's proxy, in which case
// it does that work and never returns. Init stages do not come this far (package inside).
func MaybeInit() {
	if len(os.Args) < 2 {
		return
	}
	switch os.Args[1] {
	case KeepArg:
		os.Exit(runKeep(os.Args[2:]))
	case ProbeArg:
		os.Exit(runProbe(os.Args[2:]))
	case egresslisten.ProxyArg:
		os.Exit(runEgress(os.Args[2:]))
	}
}
