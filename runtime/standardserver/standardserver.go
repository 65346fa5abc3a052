// Package standardserver is the Action Execution Server as it runs in Deft's sandboxes:
// runtime/actionserver with the executors, programs and terminals that ship with Deft.
//
// # Usage
//
//	err := standardserver.Serve(ctx, standardserver.Config{
//		Workspace: dir, Grace: 10 * time.Minute, Executors: standard.New, Log: log,
//	})
//
// Two programs serve it: cmd/deft-sandbox, which is small and so starts quickly, and
// cmd/deft where executors are linked into that, or a sandbox waited for any assignment.
//
// # Concurrency and failure
//
// A process serves once. It fails if it has not been given a socket and a journal, and
// as runtime/actionserver does. Executors that cannot be made are no failure: clients are
// told why.
package standardserver

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/deft-dev/deft/executor/standard"
	"github.com/deft-dev/deft/internal/startpages"
	"github.com/deft-dev/deft/internal/worktree"
	"github.com/deft-dev/deft/runtime/actionserver"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/process"
	"github.com/deft-dev/deft/tool"
)

// Config configures the server. Workspace, Executors and Log are required.
type Config struct {
	// Workspace is the working directory of commands.
	Workspace string
	// Grace is how long the server lives without a controller.
	Grace time.Duration
	// Executors makes the executors of the actions.
	Executors func(standard.Config) (map[string]tool.Executor, error)
	// Network is the set of hosts that commands in the sandbox reach, for hints; ""
	// outside of one.
	Network sandbox.Network
	// IgnoreSignals lets no signal end the first process of a PID namespace. Without
	// such a namespace SIGTERM says that the sandbox's first process has died.
	IgnoreSignals bool
	// OwnProgram says that the sandbox is for one program with a network of its own,
	// and no agent's actions come here.
	OwnProgram bool
	// Masked are values that are secret.
	Masked []string
	// Results is the directory for results that do not fit; the sandbox's own /tmp, where
	// commands can read them, by default.
	Results string
	// Listener and Journal are the socket and the journal, where the workspace is
	// inside of the sandbox; by default the ones that the process has inherited.
	Listener net.Listener
	Journal  *os.File
	Log      *slog.Logger
}

// Serve serves until nobody needs the sandbox any more.
func Serve(ctx context.Context, c Config) error {
	alone := c.Listener == nil
	if alone {
		var err error
		if c.Listener, c.Journal, err = actionserver.Inherited(); err != nil {
			return fmt.Errorf("take over the sandbox's socket and journal: %w", err)
		}
	} else if err := worktree.Init(ctx, c.Workspace); err != nil { // nobody else makes it a repository; it works without
		c.Log.Warn("make the workspace a git repository", "err", err)
	}
	if c.Results == "" {
		c.Results = filepath.Join(os.TempDir(), ".deft")
	}
	env := os.Environ()
	if c.OwnProgram {
		c.Executors = standard.New
	}
	tools, err := c.Executors(standard.Config{
		Workspace: c.Workspace, Scratch: c.Results, Env: env, Command: process.Command, Network: c.Network, Masked: c.Masked, Log: c.Log,
	})
	if err != nil {
		c.Log.Error("set up tools", "err", err) // the client asks for it
	}
	return actionserver.Serve(ctx, actionserver.Options{
		Listener: c.Listener, Journal: c.Journal, Tools: tools, SetupErr: err, Grace: c.Grace, OwnProcess: alone, Warm: !c.OwnProgram,
		IgnoreSignals: c.IgnoreSignals && os.Getpid() == 1,
		Workspace:     c.Workspace, Masked: c.Masked,
		Programs: standard.Programs(c.Workspace, env, c.OwnProgram),
		PTYs:     standard.PTYs(c.Workspace, env),
		Ports:    ports(),
		Settled: func() {
			if err := startpages.Release(); err != nil {
				c.Log.Debug("give memory back", "error", err)
			}
		},
		Logger: c.Log,
	})
}

// ports are the ports of a sandbox that has processes of its own, and with them a
// network; nil for others.
func ports() *actionserver.Ports {
	if os.Getpid() != 1 {
		return nil
	}
	p := &actionserver.Ports{}
	if proxy, err := url.Parse(os.Getenv("HTTP_PROXY")); err == nil {
		if port, err := strconv.Atoi(proxy.Port()); err == nil {
			p.Hidden = append(p.Hidden, port)
		}
	}
	return p
}
