package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/deft-dev/deft/executor/standard"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/runtime/actionserver"
	"github.com/deft-dev/deft/runtime/standardserver"
	"github.com/deft-dev/deft/sandbox/bootstrap"
	"github.com/deft-dev/deft/sandbox/process"
	"github.com/deft-dev/deft/sandbox/tunnel"
	"github.com/deft-dev/deft/server/executionserver"
)

// Options configure a process that waits for its assignment. Classes, Out and Err are
// required.
type Options struct {
	// Classes are the executor classes.
	Classes standard.Classes
	// Servers are further servers that the process may become, by their command.
	Servers map[string]Server
	// Prepare begins work in the background before the assignment comes, and returns what
	// waits for its end; nil for nothing.
	Prepare  func() (wait func())
	Out, Err io.Writer
}

// Server serves on the listener of an assignment, and is named by its first argument. It
// fails if it could not start.
type Server func(context.Context, *bootstrap.Assigned) error

// ExitError says that the process ends with an exit code, which needs no words.
type ExitError int

// Error implements error.
func (e ExitError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// Wait waits on the sandbox's socket until it is assigned a server, or the program of a
// client, and then is that until the sandbox ends.
func Wait(ctx context.Context, o Options) (err error) {
	log := slog.New(slog.NewJSONHandler(o.Err, nil))
	listener, journal, err := actionserver.Inherited()
	if err != nil {
		return fmt.Errorf("take over the sandbox's socket: %w", err)
	}
	defer journal.Close() // only Deft's own action server uses it
	end, err := actionserver.OwnProcess(log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	servers := map[string]Server{Command: actionServer{o.Classes, journal, log}.serve}
	maps.Copy(servers, o.Servers)
	// One processor is enough to start with, which spares the others from looking for work.
	processors := runtime.GOMAXPROCS(1)
	prepared := func() {}
	if o.Prepare != nil {
		prepared = o.Prepare()
	}
	a, err := bootstrap.Wait(listener)
	prepared()
	if err != nil {
		return fmt.Errorf("wait for what to run: %w", err)
	}
	a.Serving = func() { runtime.GOMAXPROCS(processors) }
	if a.Port > 0 {
		return runGiven(ctx, o, a)
	}
	var serve Server
	if len(a.Args) > 0 {
		serve = servers[a.Args[0]]
	}
	if serve == nil {
		err = fault.New(fault.Unsupported, "a sandbox runs "+strings.Join(slices.Sorted(maps.Keys(servers)), " or ")+" only")
	} else if err = a.Enter(); err == nil {
		if err = serve(ctx, a); err != nil { // if clients were served, nobody reads it
			a.Fail(fault.New(fault.Invalid, "the server did not start: "+withHint(err)))
		}
		return err
	}
	if err != nil {
		a.Fail(err)
	}
	return err
}

// withHint is an error with its hint, in one line: an answer has no room for two.
func withHint(err error) string {
	if hint := fault.HintOf(err); hint != "" {
		return err.Error() + ": " + hint
	}
	return err.Error()
}

// runGiven runs the program of a client, and ends as it does.
func runGiven(ctx context.Context, o Options, a *bootstrap.Assigned) error {
	if err := a.Enter(); err != nil {
		a.Fail(err)
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	code, err := a.Run(ctx, bootstrap.Program{Stdout: o.Out, Stderr: o.Err, Command: process.Command})
	if err != nil {
		return err
	}
	fmt.Fprintln(o.Err, "deft: the program has ended with the exit code", code) // a next server may not learn it otherwise
	if code != 0 {
		return ExitError(code)
	}
	return nil
}

// actionServer is the action server that a process may become.
type actionServer struct {
	classes standard.Classes
	journal *os.File
	log     *slog.Logger
}

// serve serves Deft's contract or OpenHands', as the arguments say.
func (s actionServer) serve(ctx context.Context, a *bootstrap.Assigned) error {
	f, err := Parse(a.Args[1:])
	if err != nil {
		return err
	}
	if f.Port != "" {
		ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
		defer stop()
		return Serve(ctx, &f.Flags, Config{
			Classes: s.classes, Class: f.Executor, Log: s.log,
			Listen: func(context.Context, string) (net.Listener, error) { return a.Listener, nil },
		})
	}
	c, err := f.Config(s.classes, os.Getenv, s.log)
	if err != nil {
		return err
	}
	// Connections come through HTTP, with a session key that commands must not have.
	key := os.Getenv(executionserver.KeyVariable)
	if key == "" {
		return fault.New(fault.Invalid, "the action server needs a session key").Hint("set " + executionserver.KeyVariable)
	}
	if err := os.Unsetenv(executionserver.KeyVariable); err != nil {
		return err
	}
	c.Listener, c.Journal = tunnel.Listen(a.Listener, key), s.journal
	return standardserver.Serve(ctx, c)
}
