package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/runcommand"
	"github.com/deft-dev/deft/runtime/actionserver"
	"github.com/deft-dev/deft/sandbox/bootstrap"
)

// sandboxServerCmd is the program inside a sandbox of `deft runtime-api`: it waits until it
// is told which of Deft's servers it is to be.
type sandboxServerCmd struct{}

// assignable are the commands that it may become.
var assignable = []string{"agent-server", "action-server"}

// Run waits, and then serves on the sandbox's socket until the sandbox ends.
func (c *sandboxServerCmd) Run(ctx context.Context, std *streams) (err error) {
	listener, journal, err := actionserver.Inherited()
	if err != nil {
		return fmt.Errorf("take over the sandbox's socket: %w", err)
	}
	defer journal.Close() // only Deft's own action server uses it
	end, err := actionserver.OwnProcess(slog.New(slog.NewJSONHandler(std.err, nil)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	said := &lastText{}
	inner := *std
	inner.err = io.MultiWriter(std.err, said)
	// What can be done before anybody waits is done: the command lines are made, and one
	// processor is enough to start with, which spares the others from looking for work.
	commands := map[string]*commandLine{}
	for _, name := range assignable {
		if commands[name], err = newCommandLine(ctx, name, &inner); err != nil {
			return err
		}
	}
	processors := runtime.GOMAXPROCS(1)
	a, err := bootstrap.Wait(listener)
	if err != nil {
		return fmt.Errorf("wait for what to run: %w", err)
	}
	if err := apply(a); err != nil {
		a.Fail(err)
		return err
	}
	a.Serving = func() { runtime.GOMAXPROCS(processors) }
	inner.listener, inner.journal = a.Listener, journal
	if code := commands[a.Args[0]].execute(joinPlugins(a.Args)); code != fault.ExitOK {
		a.Fail(fault.New(fault.Invalid, "the server did not start: "+oneLine(said.String())))
		return runcommand.Exit(code)
	}
	return nil
}

// apply makes the environment and the working directory those of an assignment.
func apply(a *bootstrap.Assigned) error {
	if len(a.Args) == 0 || !slices.Contains(assignable, a.Args[0]) {
		return fault.New(fault.Unsupported, "a sandbox runs "+strings.Join(assignable, " or ")+" only")
	}
	for _, kv := range a.Env {
		name, value, _ := strings.Cut(kv, "=")
		if err := os.Setenv(name, value); err != nil {
			return fault.Wrap(err, fault.Invalid, "set a variable")
		}
	}
	var errs []error
	for _, dir := range a.Dirs {
		err := os.MkdirAll(dir, 0o755)
		if err == nil {
			err = os.Chdir(dir)
		}
		if err == nil {
			a.Dir = dir
			return nil
		}
		errs = append(errs, err)
	}
	if len(errs) > 0 {
		return fault.Wrap(errors.Join(errs...), fault.Denied, "enter the working directory")
	}
	dir, err := os.Getwd()
	a.Dir = dir
	return err
}

// lastText keeps the end of what is written to it.
type lastText struct{ b bytes.Buffer }

func (t *lastText) Write(p []byte) (int, error) {
	const most = 4 << 10
	if t.b.Len()+len(p) > most {
		t.b.Reset()
	}
	t.b.Write(p[max(0, len(p)-most):])
	return len(p), nil
}

func (t *lastText) String() string { return t.b.String() }
