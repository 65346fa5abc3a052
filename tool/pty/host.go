// Package pty runs programs on pseudo terminals for people: the shells that clients
// open in a sandbox. Inside a sandbox the action server uses it; where there is no
// sandbox, the process of the conversation does.
//
// # Usage
//
//	h := pty.New(pty.Options{Dir: workspace, Env: os.Environ()})
//	defer h.Close()
//	p, err := h.OpenPTY(ctx, tool.PTYSpec{Rows: 24, Cols: 80})
//	conn, err := h.AttachPTY(ctx, p.ID, 0)
//
// # Concurrency
//
// Everything is safe for concurrent use. Each terminal has three goroutines, which
// end with it; Close waits for them.
//
// # Failure
//
// Memory is bounded: a terminal keeps the last [Options].Scrollback bytes of its
// output. Its program waits for a client that is connected and does not read. See
// [tool.PTYs] for the errors.
package pty

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/tool/internal/tty"
)

// Defaults of [Options].
const (
	DefaultMax        = 16
	DefaultScrollback = 256 << 10
)

// Options say how terminals are made.
type Options struct {
	// Dir is where programs start that name no directory.
	Dir string
	// Env is the environment of programs, as NAME=value.
	Env []string
	// Command changes the path and the arguments by which programs are started; nil
	// for none.
	Command func(path string, args []string) (string, []string)
	// Max is how many terminals there may be. Default DefaultMax.
	Max int
	// Scrollback is how many bytes of its output a terminal keeps. Default
	// DefaultScrollback.
	Scrollback int
}

// Host implements [tool.PTYs]. Make one with [New].
type Host struct {
	o Options

	mu     sync.Mutex
	closed bool
	all    []*terminal // the oldest first
}

var _ tool.PTYs = (*Host)(nil)

// New returns a Host without a terminal. It needs no Close before the first one is
// open.
func New(o Options) *Host {
	if o.Max <= 0 {
		o.Max = DefaultMax
	}
	if o.Scrollback <= 0 {
		o.Scrollback = DefaultScrollback
	}
	return &Host{o: o}
}

// OpenPTY implements [tool.PTYs].
func (h *Host) OpenPTY(ctx context.Context, s tool.PTYSpec) (tool.PTY, error) {
	if err := ctx.Err(); err != nil {
		return tool.PTY{}, fault.Wrap(context.Cause(ctx), fault.Canceled, "open a terminal")
	}
	if s.Rows == 0 && s.Cols == 0 {
		s.Rows, s.Cols = 24, 80
	}
	if err := checkSize(s.Rows, s.Cols); err != nil {
		return tool.PTY{}, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return tool.PTY{}, fault.New(fault.Unavailable, "the sandbox ends")
	}
	if err := h.makeRoom(); err != nil {
		return tool.PTY{}, err
	}
	t, err := h.start(s)
	if err != nil {
		return tool.PTY{}, err
	}
	h.all = append(h.all, t)
	return t.describe(), nil
}

// makeRoom drops the oldest terminal that has ended if there are too many. The
// caller holds mu.
func (h *Host) makeRoom() error {
	if len(h.all) < h.o.Max {
		return nil
	}
	i := slices.IndexFunc(h.all, func(t *terminal) bool { return t.describe().ExitCode != nil })
	if i < 0 {
		return fault.New(fault.RateLimit, fmt.Sprintf("%d terminals are open, which is the limit", len(h.all))).Hint("close one")
	}
	t := h.all[i]
	h.all = slices.Delete(h.all, i, i+1)
	t.forget()
	return nil
}

// checkSize refuses sizes that no terminal has.
func checkSize(rows, cols int) error {
	if rows < 1 || cols < 1 || rows > tool.MaxPTYSize || cols > tool.MaxPTYSize {
		return fault.New(fault.Invalid, fmt.Sprintf("a terminal has 1 to %d rows and columns, not %d × %d", tool.MaxPTYSize, rows, cols))
	}
	return nil
}

// start starts the program of a new terminal.
func (h *Host) start(s tool.PTYSpec) (*terminal, error) {
	cmd, err := h.command(s)
	if err != nil {
		return nil, err
	}
	master, slave, err := tty.Open(uint16(s.Rows), uint16(s.Cols))
	if err != nil {
		return nil, startError(err, "open a pseudo terminal")
	}
	defer slave.Close()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 1}
	if s.Plain {
		if err := rawOutput(slave); err != nil {
			return nil, errors.Join(err, master.Close())
		}
		cmd.Stdin = nil // /dev/null
	}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(startError(err, "start "+cmd.Args[0]), master.Close())
	}
	t := newTerminal(rand.Text()[:16], cmd, master, h.o.Scrollback)
	t.argv, t.started, t.rows, t.cols = slices.Clone(cmd.Args), time.Now(), s.Rows, s.Cols
	if len(s.Argv) > 0 {
		t.argv = slices.Clone(s.Argv)
	}
	t.run()
	return t, nil
}

// rawOutput keeps a terminal from changing line ends.
func rawOutput(slave *os.File) error {
	fd := int(slave.Fd())
	modes, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return fmt.Errorf("read modes of pty: %w", err)
	}
	modes.Oflag &^= unix.OPOST
	if err := unix.IoctlSetTermios(fd, unix.TCSETS, modes); err != nil {
		return fmt.Errorf("set modes of pty: %w", err)
	}
	return nil
}

// startError gives the error of a program that did not start its kind.
func startError(err error, what string) error {
	switch {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return fault.Wrap(err, fault.NotFound, what)
	case errors.Is(err, os.ErrPermission):
		return fault.Wrap(err, fault.Denied, what)
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.ENOMEM), errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EMFILE):
		return fault.Wrap(err, fault.RateLimit, what)
	}
	return fault.Wrap(err, fault.Internal, what)
}

// command returns the command of a terminal.
func (h *Host) command(s tool.PTYSpec) (*exec.Cmd, error) {
	// A prompt has the last directory only, not where workspaces are on the server.
	env := []string{"TERM=xterm-256color", "PROMPT_DIRTRIM=1"}
	var shell, path string
	for _, kv := range h.o.Env {
		switch name, value, _ := strings.Cut(kv, "="); name {
		case "TERM", "PROMPT_DIRTRIM":
			continue
		case "SHELL":
			shell = value
		case "PATH":
			path = value
		}
		env = append(env, kv)
	}
	if s.Term != "" {
		env[0] = "TERM=" + s.Term
	}
	dir := h.o.Dir
	if s.Dir != "" {
		dir = s.Dir
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(h.o.Dir, dir)
		}
	}
	if fi, err := os.Stat(dir); err != nil || !fi.IsDir() {
		return nil, fault.New(fault.NotFound, "the directory "+dir+" does not exist").Because(err)
	}
	argv := s.Argv
	if len(argv) == 0 {
		argv = []string{findShell(shell, path)}
	}
	program, err := find(argv[0], dir, path)
	if err != nil {
		return nil, err
	}
	// It outlives the call; ClosePTY ends it.
	cmd := exec.CommandContext(context.Background(), program, argv[1:]...)
	cmd.Args[0], cmd.Dir, cmd.Env = argv[0], dir, env
	if h.o.Command != nil {
		cmd.Path, cmd.Args = h.o.Command(cmd.Path, cmd.Args)
	}
	return cmd, nil
}

// findShell returns the shell to start: the user's if it is there, else bash, else
// the one that every system has.
func findShell(preferred, path string) string {
	for _, shell := range []string{preferred, "bash", "/bin/bash"} {
		if shell == "" {
			continue
		}
		if found, err := find(shell, "/", path); err == nil {
			return found
		}
	}
	return "/bin/sh"
}

// find returns the path of a program by a search path of its own, not this
// process's.
func find(name, dir, path string) (string, error) {
	if name == "" {
		return "", fault.New(fault.Invalid, "the program has no name")
	}
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		if err := executable(name); err != nil {
			return "", startError(err, "start "+name)
		}
		return name, nil
	}
	for _, dir := range filepath.SplitList(path) {
		if file := filepath.Join(dir, name); filepath.IsAbs(dir) && executable(file) == nil {
			return file, nil
		}
	}
	return "", fault.New(fault.NotFound, "there is no program "+name)
}

func executable(file string) error {
	fi, err := os.Stat(file)
	if err != nil {
		return err
	}
	if fi.IsDir() {
		return os.ErrPermission
	}
	return unix.Access(file, unix.X_OK)
}

// terminal returns an open terminal.
func (h *Host) terminal(id string) (*terminal, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range h.all {
		if t.id == id {
			return t, nil
		}
	}
	return nil, fault.New(fault.NotFound, "there is no terminal "+id)
}

// AttachPTY implements [tool.PTYs].
func (h *Host) AttachPTY(_ context.Context, id string, offset int64) (tool.PTYConn, error) {
	t, err := h.terminal(id)
	if err != nil {
		return nil, err
	}
	return t.attach(offset)
}

// ResizePTY implements [tool.PTYs].
func (h *Host) ResizePTY(_ context.Context, id string, rows, cols int) error {
	t, err := h.terminal(id)
	if err != nil {
		return err
	}
	if err := checkSize(rows, cols); err != nil {
		return err
	}
	return t.resize(rows, cols)
}

// ClosePTY implements [tool.PTYs].
func (h *Host) ClosePTY(_ context.Context, id string) error {
	h.mu.Lock()
	i := slices.IndexFunc(h.all, func(t *terminal) bool { return t.id == id })
	if i < 0 {
		h.mu.Unlock()
		return fault.New(fault.NotFound, "there is no terminal "+id)
	}
	t := h.all[i]
	h.all = slices.Delete(h.all, i, i+1)
	h.mu.Unlock()
	return t.end()
}

// ListPTYs implements [tool.PTYs].
func (h *Host) ListPTYs(context.Context) ([]tool.PTY, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := make([]tool.PTY, 0, len(h.all))
	for _, t := range h.all {
		list = append(list, t.describe())
	}
	return list, nil
}

// Close ends all terminals and waits for that. No other can be opened.
func (h *Host) Close() error {
	h.mu.Lock()
	all := h.all
	h.all, h.closed = nil, true
	h.mu.Unlock()
	var ending sync.WaitGroup
	errs := make([]error, len(all))
	for i, t := range all {
		ending.Go(func() { errs[i] = t.end() })
	}
	ending.Wait()
	return errors.Join(errs...)
}
