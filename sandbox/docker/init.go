package docker

import (
	"fmt"
	"os"

	"github.com/deft-dev/deft/sandbox/internal/egresslisten"
	"github.com/deft-dev/deft/sandbox/internal/egressproxy"
)

// MaybeInit must be called at the start of main in a binary that starts
// containers, and of TestMain in its tests. It returns at once unless this process
// relays connections to a sandbox's proxy, or removes a sandbox's files. The first stage
// of a container does not come this far (package inside).
func MaybeInit() {
	switch {
	case len(os.Args) == 3 && os.Args[1] == egresslisten.RelayArg:
		if err := egressproxy.Relay(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, "deft:", err)
		}
		os.Exit(1)
	case len(os.Args) == 2 && os.Args[1] == removeArg:
		if err := removeAll(); err != nil {
			fmt.Fprintln(os.Stderr, "deft:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
}
