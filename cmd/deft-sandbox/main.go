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
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/executor/standard"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/runtime/standardserver"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/docker/stage"
	"github.com/deft-dev/deft/sandbox/process"
	"github.com/deft-dev/deft/tool"
)

func main() {
	process.MaybeInit()
	stage.MaybeInit()
	err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) // commands are of the same user, and this process holds secrets
	if err == nil {
		err = run(context.Background(), os.Args[1:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "deft-sandbox:", err)
		os.Exit(fault.ExitError)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) == 0 || args[0] != "action-server" {
		return fault.New(fault.Invalid, "this program is for deft, which starts it in sandboxes")
	}
	c, err := parse(args[1:])
	if err != nil {
		return err
	}
	return standardserver.Serve(ctx, c)
}

// parse reads the flags of an action server.
func parse(args []string) (standardserver.Config, error) {
	c := standardserver.Config{Log: slog.New(slog.NewJSONHandler(os.Stderr, nil))}
	flags := flag.NewFlagSet("action-server", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // the error says it
	flags.StringVar(&c.Workspace, "workspace", "", "")
	flags.DurationVar(&c.Grace, "grace", 10*time.Minute, "")
	flags.BoolVar(&c.IgnoreSignals, "ignore-signals", false, "")
	flags.BoolVar(&c.OwnProgram, "own-program", false, "")
	flags.StringVar(&c.Results, "results", "", "")
	flags.String("mark", "", "") // for whoever compares command lines
	executor := flags.String("executor", "standard", "")
	network := flags.String("net", "", "")
	flags.Func("mask", "", func(name string) error {
		c.Masked = append(c.Masked, os.Getenv(name))
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return c, fault.Wrap(err, fault.Invalid, "read the flags")
	}
	if flags.NArg() > 0 || c.Workspace == "" {
		return c, fault.New(fault.Invalid, "the action server needs a workspace, and takes flags only")
	}
	c.Network = sandbox.Network(*network)
	c.Executors = standard.New
	if file, ok := strings.CutPrefix(*executor, standard.ProgramClass); ok {
		c.Executors = func(o standard.Config) (map[string]tool.Executor, error) { return standard.WithProgram(file, o) }
	} else if *executor != "standard" {
		return c, fault.New(fault.Unsupported, "the executor class "+*executor+" is not linked into this program")
	}
	return c, nil
}
