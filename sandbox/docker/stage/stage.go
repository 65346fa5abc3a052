// Package stage has the work of Deft's binary in and beside containers (package
// sandbox/docker) before its own main: their first stage, the relay of their connections,
// and the removal of files that only root may remove.
//
// # Usage
//
//	func main() { stage.MaybeInit(); … }
//
// It is apart from package docker because the programs that run inside need no client of an
// engine. The first stage runs while this package is initialized.
//
// # Concurrency and failure
//
// A stage has its process to itself, never returns, and reports its failure on
// standard error.
package stage

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/deft-dev/deft/sandbox/docker/internal/inside"
	"github.com/deft-dev/deft/sandbox/internal/egresslisten"
	"github.com/deft-dev/deft/sandbox/internal/egressproxy"
)

// MaybeInit must be called at the start of main in a binary that runs in containers, and of
// TestMain in its tests. It returns at once unless this process relays connections to a
// sandbox's proxy, or removes a sandbox's files.
func MaybeInit() {
	switch {
	case len(os.Args) == 3 && os.Args[1] == egresslisten.RelayArg:
		if err := egressproxy.Relay(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, "deft:", err)
		}
		os.Exit(1)
	case len(os.Args) == 2 && os.Args[1] == inside.RemoveArg:
		if err := removeAll(); err != nil {
			fmt.Fprintln(os.Stderr, "deft:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
}

// removeAll removes everything in [inside.Removed].
func removeAll() error {
	entries, err := os.ReadDir(inside.Removed)
	for _, e := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(inside.Removed, e.Name())))
	}
	return err
}
