package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/cli/runcommand"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/runtime/standardserver"
	"github.com/deft-dev/deft/runtime/tunnel"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/server/executionserver"
	"github.com/deft-dev/deft/session/build"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/terminal"
)

// actionServerCmd is the program inside a sandbox: descriptor 3 is its
// listening socket, descriptor 4 its journal. cmd/deft-sandbox has the same flags. With a
// port it serves the contract of OpenHands' action execution server instead.
type actionServerCmd struct {
	executionFlags
	Workspace string          `help:"Working directory of commands." hidden:"" type:"path"`
	Grace     time.Duration   `help:"How long to live without a controller." default:"10m"`
	Executor  string          `help:"Who runs the actions: standard, a class that is linked in, or exec:PATH for a program." default:"standard" placeholder:"CLASS"`
	Net       sandbox.Network `help:"What commands in the sandbox reach." hidden:""`
	Signals   bool            `name:"ignore-signals" help:"Let no signal end the server." hidden:""`
	Program   bool            `name:"own-program" help:"The sandbox is for one program with a network of its own." hidden:""`
	Masked    []string        `name:"mask" help:"Variables whose values are secret." hidden:""`
	Mark      string          `help:"Changes with what a sandbox that runs must have been started with." hidden:""`
	Results   string          `help:"Directory for results that do not fit (default: in the sandbox's own /tmp)." hidden:"" type:"path"`
}

// Run serves until nobody needs the sandbox any more.
func (c *actionServerCmd) Run(ctx context.Context, std *streams) error {
	if c.Port != "" {
		return c.serveOpenHands(ctx, std, c.Executor)
	}
	if c.Workspace == "" {
		return fault.New(fault.Invalid, "the action server needs a port").Hint("deft action-server PORT --working-dir DIR")
	}
	executors, err := build.StandardClasses().Executor(c.Executor)
	if err != nil {
		return err
	}
	serve := standardserver.Config{
		Workspace: c.Workspace, Grace: c.Grace, Executors: executors, Network: c.Net, IgnoreSignals: c.Signals, OwnProgram: c.Program,
		Results: c.Results, Log: slog.New(slog.NewJSONHandler(std.Err, nil)),
	}
	for _, name := range c.Masked {
		serve.Masked = append(serve.Masked, std.Env(name))
	}
	if std.listener != nil {
		// In a runtime of `deft runtime-api` connections come through HTTP, with a session
		// key that commands must not have.
		key := std.Env(executionserver.KeyVariable)
		if key == "" {
			return fault.New(fault.Invalid, "the action server needs a session key").Hint("set " + executionserver.KeyVariable)
		}
		if err := os.Unsetenv(executionserver.KeyVariable); err != nil {
			return err
		}
		serve.Listener, serve.Journal = tunnel.Listen(std.listener, key), std.journal
	}
	return standardserver.Serve(ctx, serve)
}

// executionFlags are the flags of OpenHands' action_execution_server.
type executionFlags struct{ executionserver.Flags }

// joinPlugins joins the names after --plugins with commas: clients of OpenHands pass
// them as several arguments.
func joinPlugins(args []string) []string {
	at := slices.Index(args, "--plugins")
	if at < 0 || commandOf(args) != "action-server" {
		return args
	}
	end := at + 1
	for end < len(args) && !strings.HasPrefix(args[end], "-") {
		end++
	}
	joined := append(slices.Clone(args[:at]), "--plugins="+strings.Join(args[at+1:end], ","))
	return append(joined, args[end:]...)
}

// serveOpenHands serves until ctx ends.
func (f *executionFlags) serveOpenHands(ctx context.Context, std *streams, class string) (err error) {
	ctx, stop := runcommand.UntilTold(ctx)
	defer stop()
	key := std.Env(executionserver.KeyVariable)
	address, err := f.Address(key)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(f.WorkingDir, 0o755); err != nil {
		return fault.New(fault.Denied, "make the working directory").Because(err).
			Hint(fmt.Sprintf("name one that the user %d may make, or make it in the image and give it to that user", os.Geteuid()))
	}
	listener, err := std.listen(ctx, "tcp", address)
	if err != nil {
		return fault.Wrap(err, fault.Unavailable, "listen on "+address)
	}
	defer func() { _ = listener.Close() }() // it may be closed already
	if err := f.Become(); err != nil {
		return fault.Wrap(err, fault.Denied, "become the user of --user-id")
	}
	// Commands run as the same user. Without this they could read the key.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fault.Wrap(err, fault.Internal, "protect the server's memory")
	}
	scratch, err := os.MkdirTemp("", "deft-action-server-*")
	if err != nil {
		return fault.Wrap(err, fault.Denied, "make a directory for results")
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	h, err := f.openHandsServer(scratch, key, class, slog.New(slog.NewJSONHandler(std.Err, nil)))
	if err != nil {
		return err
	}
	web := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 5 * time.Minute, MaxHeaderBytes: 64 << 10}
	served := make(chan error, 1)
	go func() { served <- web.Serve(listener) }()
	if std.listener == nil { // else who made it knows
		fmt.Fprintf(std.Out, "action server on http://%s\n", listener.Addr())
	}
	select {
	case err = <-served:
		return errors.Join(err, h.Close())
	case <-ctx.Done():
	}
	err = h.Close() // running actions are interrupted and answered
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if web.Shutdown(end) != nil { // clients that do not read have had their time
		err = errors.Join(err, web.Close())
	}
	<-served
	return err
}

// openHandsServer makes the server with the executors of a class.
func (f *executionFlags) openHandsServer(scratch, key, class string, log *slog.Logger) (*executionserver.Server, error) {
	class, err := build.AbsoluteExecutor(class)
	if err != nil {
		return nil, err
	}
	classes := build.StandardClasses()
	if err := classes.CheckExecutor(class); err != nil {
		return nil, err
	}
	executors, err := classes.Executor(class)
	if err != nil {
		return nil, err
	}
	silence := 10 * time.Second // the reference's default
	if v := os.Getenv("NO_CHANGE_TIMEOUT_SECONDS"); v != "" {
		seconds, err := strconv.Atoi(v)
		if err != nil || seconds < 1 {
			return nil, fault.New(fault.Invalid, "NO_CHANGE_TIMEOUT_SECONDS must be a number of seconds")
		}
		silence = time.Duration(seconds) * time.Second
	}
	env := f.Environment()
	shell := func(c *terminal.Config) {
		c.SoftTimeout, c.SoftAlways, c.MaxOutput, c.ForegroundCap = silence, true, 4<<20, 24*time.Hour
	}
	tools, err := executors(build.ExecutorConfig{Workspace: f.WorkingDir, Scratch: scratch, Env: env, Masked: []string{key}, Shell: shell, Log: log})
	if err != nil {
		return nil, fmt.Errorf("set up tools: %w", err)
	}
	for _, name := range f.Plugins {
		log.Warn("this plugin of OpenHands is not present; its actions answer with an error", "plugin", name)
	}
	var h *executionserver.Server
	own, err := classes.OwnTools(tools)
	if err == nil {
		h, err = executionserver.New(executionserver.Options{
			WorkingDir: f.WorkingDir, Roots: append([]string{filepath.Clean(os.TempDir())}, f.FileRoot...), Tools: tools, Own: own, Key: key, Log: log,
			NewShell: func(dir string) tool.Executor {
				c := terminal.Config{WorkingDir: dir, Env: env, OutputDir: filepath.Join(scratch, "output")}
				shell(&c)
				return terminal.New(c)
			},
		})
	}
	if err == nil {
		return h, nil
	}
	for _, t := range tools {
		err = errors.Join(err, t.Close())
	}
	return nil, err
}
