// Command deft-sandbox is Deft's program in its sandboxes, and beside them: their first
// stages, the Action Execution Server, the proxy of their network. Package sandbox/program
// carries it inside of deft, which could do the same and is several times larger: a sandbox
// starts sooner, and takes less memory, with this one.
//
//	deft-sandbox action-server --workspace DIR …
//
// People do not call it. Its flags are the hidden ones of `deft action-server`, and
// session/build makes them.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/executor/standard"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/runtime/standardserver"
	"github.com/deft-dev/deft/sandbox/docker/stage"
	"github.com/deft-dev/deft/sandbox/process"
	"github.com/deft-dev/deft/server/executionserver/host"
)

func main() {
	process.MaybeInit()
	stage.MaybeInit()
	err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) // commands are of the same user, and this process holds secrets
	if err == nil {
		err = run(context.Background(), os.Args[1:])
	}
	if code, ok := errors.AsType[host.ExitError](err); ok {
		os.Exit(int(code))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "deft-sandbox:", err)
		os.Exit(fault.ExitError)
	}
}

func run(ctx context.Context, args []string) error {
	switch {
	case len(args) > 0 && args[0] == host.Command:
		f, err := host.Parse(args[1:])
		if err != nil {
			return err
		}
		c, err := f.Config(standard.OwnClasses(), os.Getenv, slog.New(slog.NewJSONHandler(os.Stderr, nil)))
		if err != nil {
			return err
		}
		return standardserver.Serve(ctx, c)
	case len(args) == 1 && args[0] == host.WaitCommand:
		return host.Wait(ctx, host.Options{Classes: standard.OwnClasses(), Out: os.Stdout, Err: os.Stderr})
	}
	return fault.New(fault.Invalid, "this program is for deft, which starts it in sandboxes")
}
