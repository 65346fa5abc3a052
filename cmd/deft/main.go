// Command deft runs software engineering agents: it is every role of Deft in one
// binary. This package parses flags and wires adapters to domains; the packages it
// wires do the work of the roles.
package main

import (
	"context"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/sandbox/docker/stage"
	"github.com/deft-dev/deft/sandbox/process"
)

func main() {
	process.MaybeInit() // the binary is also the sandbox's first stage
	stage.MaybeInit()
	// This process holds keys, and commands without a sandbox are the same user's: without
	// this they could read its memory, environment and descriptors under /proc. Root can.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		fmt.Fprintln(os.Stderr, "deft: protect this process's memory:", err)
		os.Exit(fault.ExitError)
	}
	os.Exit(executeCommandLine(context.Background(), os.Args[1:], standardStreams()))
}
