// Package host has the processes that serve the Action Execution Server's contract of
// OpenHands (server/executionserver): one of its own on a machine or in an image, and the
// program that waits in a sandbox of a Runtime API.
//
// # Usage
//
//	err := host.Serve(ctx, &flags, host.Config{Classes: standard.OwnClasses(), Class: "standard", Listen: listen, Log: log})
//
//	err = host.Wait(ctx, host.Options{Classes: standard.OwnClasses(), Out: out, Err: errs}) // in a sandbox
//
// # Concurrency and failure
//
// A process serves once. Flags that cannot be followed are fault.Invalid. Who assigns work to
// a sandbox is told why it does not start.
package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/executor/standard"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/server/executionserver"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/terminal"
)

// Config configures a server. All but Serving is required.
type Config struct {
	// Classes are the executor classes, and Class the name of one.
	Classes standard.Classes
	Class   string
	// Listen makes the listener for the address of the flags.
	Listen func(ctx context.Context, address string) (net.Listener, error)
	// Serving is called before the server serves; nil for nothing.
	Serving func(net.Addr)
	Log     *slog.Logger
}

// Serve serves OpenHands' contract until ctx ends.
func Serve(ctx context.Context, f *executionserver.Flags, c Config) (err error) {
	key := os.Getenv(executionserver.KeyVariable)
	address, err := f.Address(key)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(f.WorkingDir, 0o755); err != nil {
		return fault.New(fault.Denied, "make the working directory").Because(err).
			Hint(fmt.Sprintf("name one that the user %d may make, or make it in the image and give it to that user", os.Geteuid()))
	}
	listener, err := c.Listen(ctx, address)
	if err != nil {
		return err
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
	h, err := newServer(f, c, scratch, key)
	if err != nil {
		return err
	}
	if c.Serving != nil {
		c.Serving(listener.Addr())
	}
	return h.Serve(ctx, listener)
}

// newServer makes the server with the executors of a class.
func newServer(f *executionserver.Flags, c Config, scratch, key string) (*executionserver.Server, error) {
	class, err := standard.AbsoluteClass(c.Class)
	if err != nil {
		return nil, err
	}
	if err := c.Classes.CheckExecutor(class); err != nil {
		return nil, err
	}
	executors, err := c.Classes.Executor(class)
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
	tools, err := executors(standard.Config{Workspace: f.WorkingDir, Scratch: scratch, Env: env, Masked: []string{key}, Shell: shell, Log: c.Log})
	if err != nil {
		return nil, fmt.Errorf("set up tools: %w", err)
	}
	for _, name := range f.Plugins {
		if why := executionserver.Absent(name); why != "" {
			c.Log.Warn("a plugin of OpenHands has no effect", "plugin", name, "why", why)
		}
	}
	var h *executionserver.Server
	own, err := c.Classes.OwnTools(tools)
	if err == nil {
		h, err = executionserver.New(executionserver.Options{
			WorkingDir: f.WorkingDir, Roots: append([]string{filepath.Clean(os.TempDir())}, f.FileRoot...), Tools: tools, Own: own, Key: key, Log: c.Log, NoBrowser: !f.Browser, Skills: f.Skills(),
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
