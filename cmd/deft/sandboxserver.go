package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/deft-dev/deft/cli/runcommand"
	"github.com/deft-dev/deft/cli/stdio"
	"github.com/deft-dev/deft/eventstream/sqlite"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/runtime/actionserver"
	"github.com/deft-dev/deft/sandbox/bootstrap"
	"github.com/deft-dev/deft/sandbox/process"
)

// sandboxServerCmd is the program inside a sandbox of `deft runtime-api`: it waits until it
// is told which of Deft's servers it is to be, or which program it is to run.
type sandboxServerCmd struct{}

// assignable are the commands that it may become, each with arguments as clients send them.
var assignable = map[string][]string{
	"agent-server":  {"--port", "60000"},
	"action-server": {"60000", "--working-dir", "/workspace"},
}

// Run waits, and then serves on the sandbox's socket until the sandbox ends.
func (c *sandboxServerCmd) Run(ctx context.Context, std *streams) (err error) {
	listener, journal, err := actionserver.Inherited()
	if err != nil {
		return fmt.Errorf("take over the sandbox's socket: %w", err)
	}
	defer journal.Close() // only Deft's own action server uses it
	end, err := actionserver.OwnProcess(slog.New(slog.NewJSONHandler(std.Err, nil)))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	said := &lastText{}
	inner := *std
	inner.Err = io.MultiWriter(std.Err, said)
	// All possible work is done before anybody waits: the command lines are made, and each has
	// parsed once, so that the code is in memory; and one processor is enough to start with,
	// which spares the others from looking for work.
	commands := map[string]*commandLine{}
	for name, usual := range assignable {
		if commands[name], err = newCommandLine(ctx, name, &inner); err != nil {
			return err
		}
		_, _ = commands[name].parser.Parse(append([]string{name}, usual...)) // whom it is assigned to is told
	}
	processors := runtime.GOMAXPROCS(1)
	prepared := prepareStore(ctx, std)
	a, err := bootstrap.Wait(listener)
	prepared()
	if err != nil {
		return fmt.Errorf("wait for what to run: %w", err)
	}
	if err := apply(a); err != nil {
		a.Fail(err)
		return err
	}
	a.Serving = func() { runtime.GOMAXPROCS(processors) }
	if a.Port > 0 {
		return runGiven(ctx, std, a)
	}
	inner.listener, inner.journal = a.Listener, journal
	if code := commands[a.Args[0]].execute(joinPlugins(a.Args)); code != fault.ExitOK {
		a.Fail(fault.New(fault.Invalid, "the server did not start: "+stdio.OneLine(said.String())))
		return runcommand.Exit(code)
	}
	return nil
}

// runGiven runs the program of a client, and ends as it does.
func runGiven(ctx context.Context, std *streams, a *bootstrap.Assigned) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	code, err := a.Run(ctx, bootstrap.Program{Stdout: std.Out, Stderr: std.Err, Command: process.Command})
	if err != nil {
		return err
	}
	fmt.Fprintln(std.Err, "deft: the program has ended with the exit code", code) // a next server may not learn it otherwise
	if code != 0 {
		return runcommand.Exit(code)
	}
	return nil
}

// prepareAfter is how long a sandbox waits before more is prepared: one of a pool does, one
// that was started for a request does not.
const prepareAfter = 250 * time.Millisecond

// prepareStore makes the agent server's event store in the background, which takes longer
// than all else of its start. It is empty, and nothing is kept in memory. wait waits for
// the started work.
func prepareStore(ctx context.Context, std *streams) (wait func()) {
	done := make(chan struct{})
	timer := time.AfterFunc(prepareAfter, func() {
		defer close(done)
		p, err := findPaths(std.Env("DEFT_DATA"), std.Env)
		if err == nil {
			var s *sqlite.Store
			if s, err = openStore(ctx, p); err == nil {
				err = s.Close()
			}
		}
		if err != nil { // the agent server says so if it is needed
			fmt.Fprintln(std.Err, "deft: note: the event store cannot be prepared:", stdio.OneLine(err.Error()))
		}
		debug.FreeOSMemory()
	})
	return func() {
		if !timer.Stop() {
			<-done
		}
	}
}

// apply makes the environment and the working directory those of an assignment.
func apply(a *bootstrap.Assigned) error {
	if len(a.Args) == 0 || a.Port == 0 && assignable[a.Args[0]] == nil {
		return fault.New(fault.Unsupported, "a sandbox runs "+strings.Join(slices.Sorted(maps.Keys(assignable)), " or ")+" only")
	}
	return a.Enter()
}

// lastText keeps the end of its input.
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
