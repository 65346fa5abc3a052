package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"time"

	"github.com/deft-dev/deft/cli/runcommand"
	"github.com/deft-dev/deft/cli/stdio"
	"github.com/deft-dev/deft/eventstream/sqlite"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/sandbox/bootstrap"
	"github.com/deft-dev/deft/server/executionserver/host"
	"github.com/deft-dev/deft/session/build"
)

// sandboxServerCmd is the program inside a sandbox of `deft runtime-api`: it waits until it
// is told to be one of Deft's servers, or to run a program. The small
// program cmd/deft-sandbox does it where no agent server can be wanted.
type sandboxServerCmd struct{}

// Run waits, and then serves on the sandbox's socket until the sandbox ends.
func (c *sandboxServerCmd) Run(ctx context.Context, std *streams) error {
	said := &lastText{}
	inner := *std
	inner.Err = io.MultiWriter(std.Err, said)
	agent, err := newCommandLine(ctx, agentServerName, &inner)
	if err != nil {
		return err
	}
	_, _ = agent.parser.Parse([]string{agentServerName, "--port", "60000"}) // so that its code is in memory
	err = host.Wait(ctx, host.Options{
		Classes: build.StandardClasses().Classes, Out: std.Out, Err: std.Err,
		Prepare: func() (wait func()) { return prepareStore(ctx, std) },
		Servers: map[string]host.Server{agentServerName: func(_ context.Context, a *bootstrap.Assigned) error {
			inner.listener = a.Listener
			if code := agent.execute(a.Args); code != fault.ExitOK {
				a.Fail(fault.New(fault.Invalid, "the server did not start: "+stdio.OneLine(said.String())))
				return host.ExitError(code)
			}
			return nil
		}},
	})
	if code, ok := errors.AsType[host.ExitError](err); ok {
		return runcommand.Exit(code)
	}
	return err
}

// agentServerName is the command of agent servers.
const agentServerName = "agent-server"

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
