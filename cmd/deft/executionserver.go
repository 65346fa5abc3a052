package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
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
	"github.com/deft-dev/deft/server/executionserver"
	"github.com/deft-dev/deft/session/build"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/terminal"
)

// executionServerFlags are those of OpenHands' action_execution_server, as its runtimes
// pass them, and a few of our own.
type executionServerFlags struct {
	Port       string   `arg:"" optional:"" help:"Port to listen on."`
	WorkingDir string   `name:"working-dir" help:"Directory of the files and commands." placeholder:"DIR" type:"path"`
	Plugins    []string `help:"Plugins of OpenHands; none is present, and their actions answer with an error." placeholder:"NAME"`
	Username   string   `help:"User that commands see as USER." placeholder:"NAME"`
	UserID     int      `name:"user-id" help:"User that the server becomes, if it is started by root (default: the user that starts it)." default:"-1" placeholder:"UID"`
	Browser    bool     `name:"enable-browser" help:"Accepted for clients of OpenHands; there is no browser, and its actions answer with an error." default:"true" negatable:""`
	EvalEnv    string   `name:"browsergym-eval-env" help:"Refused: there is no browser." hidden:""`
	Host       string   `help:"Address to listen on (default: all with a key in SESSION_API_KEY, else 127.0.0.1)." placeholder:"ADDRESS"`
	FileRoot   []string `name:"file-root" help:"Further directory whose files clients may read and write, beside the working directory and the one for temporary files. May be repeated." placeholder:"DIR" type:"path"`
}

// sessionKeyVariable holds the key that clients send.
const sessionKeyVariable = "SESSION_API_KEY"

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

// plugins are the reference's.
var plugins = []string{"agent_skills", "jupyter", "vscode"}

// checkFlags returns the port and the address to listen on.
func (f *executionServerFlags) checkFlags(key string) (address string, err error) {
	port, err := strconv.ParseUint(f.Port, 10, 16)
	if err != nil {
		return "", fault.New(fault.Invalid, fmt.Sprintf("the port %.50q is not a number from 0 to 65535", f.Port))
	}
	for _, name := range f.Plugins {
		if !slices.Contains(plugins, name) {
			return "", fault.New(fault.Invalid, fmt.Sprintf("Plugin %.50s not found", name)).Hint("known are " + strings.Join(plugins, ", "))
		}
	}
	if f.EvalEnv != "" {
		return "", fault.New(fault.Unsupported, "--browsergym-eval-env needs a browser, which this server does not have")
	}
	if f.WorkingDir == "" {
		return "", fault.New(fault.Invalid, "--working-dir is missing")
	}
	host := f.Host
	switch {
	case host == "" && key == "":
		host = "127.0.0.1"
	case host == "":
		host = "0.0.0.0"
	case key == "" && !executionserver.Loopback(host):
		return "", fault.New(fault.Invalid, "without a key the action server listens on this machine only: anyone who reaches it can run commands").
			Hint("set " + sessionKeyVariable)
	}
	return net.JoinHostPort(host, strconv.FormatUint(port, 10)), nil
}

// become makes this process that of another user, who owns the working directory.
func (f *executionServerFlags) become() error {
	if f.UserID < 0 || f.UserID == os.Geteuid() {
		return nil
	}
	if os.Geteuid() != 0 {
		return fault.New(fault.Denied, fmt.Sprintf("only root can become the user %d of --user-id", f.UserID))
	}
	return errors.Join(os.Chown(f.WorkingDir, f.UserID, f.UserID), unix.Setgroups(nil), unix.Setgid(f.UserID), unix.Setuid(f.UserID))
}

// environment is that of commands: without the key, which would give them to whoever
// reads it from them.
func (f *executionServerFlags) environment() []string {
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, sessionKeyVariable+"=") })
	if f.Username != "" {
		env = append(env, "USER="+f.Username, "LOGNAME="+f.Username)
	}
	return env
}

// serveOpenHands serves until ctx ends.
func (f *executionServerFlags) serveOpenHands(ctx context.Context, std *streams, class string) (err error) {
	ctx, stop := runcommand.UntilTold(ctx)
	defer stop()
	key := std.Env(sessionKeyVariable)
	address, err := f.checkFlags(key)
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
	if err := f.become(); err != nil {
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
	err = h.Close() // what runs is interrupted and answered
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if web.Shutdown(end) != nil { // clients that do not read have had their time
		err = errors.Join(err, web.Close())
	}
	<-served
	return err
}

// openHandsServer makes the server with the executors of a class.
func (f *executionServerFlags) openHandsServer(scratch, key, class string, log *slog.Logger) (*executionserver.Server, error) {
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
	env := f.environment()
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
