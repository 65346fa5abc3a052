// Command program runs in the containers of the tests of package remote, in the place of
// Deft: it waits for its assignment, and then answers the suite through the tunnel.
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/deft-dev/deft/runtime/actionserver"
	"github.com/deft-dev/deft/sandbox/bootstrap"
	"github.com/deft-dev/deft/sandbox/docker/stage"
	"github.com/deft-dev/deft/sandbox/sandboxtest"
	"github.com/deft-dev/deft/sandbox/tunnel"

	"golang.org/x/sys/unix"
)

func main() {
	stage.MaybeInit()
	sandboxtest.MaybeServe()
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// serve does the work of `deft sandbox-server`.
func serve() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return err
	}
	listener, _, err := actionserver.Inherited()
	if err != nil {
		return err
	}
	a, err := bootstrap.Wait(listener)
	if err != nil {
		return err
	}
	var key string
	for _, kv := range a.Env {
		name, value, _ := strings.Cut(kv, "=")
		if name == "SESSION_API_KEY" {
			key = value
		} else if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	for _, dir := range a.Dirs {
		if os.MkdirAll(dir, 0o755) == nil && os.Chdir(dir) == nil {
			a.Dir = dir
			break
		}
	}
	return sandboxtest.Serve(tunnel.Listen(a.Listener, key))
}
