package process

import (
	"errors"
	"fmt"
	"os"

	"github.com/deft-dev/deft/sandbox/internal/egressproxy"
	"github.com/deft-dev/deft/sandbox/process/internal/inside"
)

// runEgress is the proxy's process, after package inside has given up its rights.
func runEgress(args []string) int {
	err := errors.New("this command is internal; it is started by a sandbox")
	if len(args) == 1 && args[0] == inside.Restricted {
		err = egressproxy.Serve()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "sandbox proxy:", err)
		return 1
	}
	return 0
}
