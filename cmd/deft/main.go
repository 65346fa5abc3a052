// Command deft runs software engineering agents: it is every role of Deft in
// one binary. This package parses flags and wires adapters to domains; what
// the roles do stands in the packages it wires.
package main

import (
	"context"
	"os"
	"runtime/debug"

	"github.com/deft-dev/deft/sandbox/process"
)

func main() {
	process.MaybeInit() // the binary is also the sandbox's first stage
	if os.Getenv("GOGC") == "" {
		// The heap is a few megabytes: collecting it less often costs less
		// memory than it saves time in every step.
		debug.SetGCPercent(160)
	}
	os.Exit(executeCommandLine(context.Background(), os.Args[1:], standard()))
}
