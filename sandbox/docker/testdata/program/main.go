// Command program runs in the containers of the tests of package docker: a static
// binary, which a test binary with the race detector is not.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/deft-dev/deft/runtime/actionserver"
	"github.com/deft-dev/deft/sandbox/docker/stage"
	"github.com/deft-dev/deft/sandbox/process"
	"github.com/deft-dev/deft/sandbox/sandboxtest"
)

func main() {
	process.MaybeInit() // the proxy
	stage.MaybeInit()
	sandboxtest.MaybeServe()
	if len(os.Args) == 3 && os.Args[1] == "files" {
		if err := serveFiles(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// serveFiles is an action server for the files of a directory.
func serveFiles(dir string) error {
	l, journal, err := actionserver.Inherited()
	if err != nil {
		return err
	}
	return actionserver.Serve(context.Background(), actionserver.Options{Listener: l, Journal: journal, Workspace: dir, OwnProcess: true})
}
