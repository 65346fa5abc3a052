package bash

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Job is one command to run.
type Job struct {
	Command string   // for `sh -c`
	Dir     string   // empty for the working directory of the server
	Env     []string // all of it
	// Stdout and Stderr get the output as it is printed. They do not fail and
	// may be written to at the same time.
	Stdout, Stderr io.Writer
}

// Runner runs commands somewhere.
type Runner interface {
	// Run runs a command as the leader of a session and returns when it has
	// ended and everything that holds its output open as well. The code is
	// the exit code, or the negative number of the signal that ended it.
	//
	// When ctx ends, Run ends the command's process group with SIGTERM, and
	// with SIGKILL if something is left a second later; it then returns the
	// code with the cause of ctx. Any other error says that the command could
	// not be started.
	Run(ctx context.Context, j Job) (code int, err error)
}

// Local runs commands on this machine.
type Local struct{}

var _ Runner = Local{}

// grace is how long a command has to clean up after SIGTERM, and its output to
// end after SIGKILL.
const grace = time.Second

// Run implements [Runner].
func (Local) Run(ctx context.Context, j Job) (int, error) {
	if strings.ContainsRune(j.Command, 0) || strings.ContainsRune(j.Dir, 0) {
		return 0, errors.New("embedded null byte")
	}
	//nolint:noctx // a context would kill the shell alone; wait ends its group
	cmd := exec.Command("/bin/sh", "-c", j.Command)
	cmd.Dir, cmd.Env = j.Dir, j.Env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	var p process
	if err := p.start(cmd, j); err != nil {
		return 0, err
	}
	early := p.wait(ctx)
	err := cmd.Wait()
	state := cmd.ProcessState
	if state == nil {
		return 0, fmt.Errorf("wait: %w", err)
	}
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return -int(ws.Signal()), early
	}
	return state.ExitCode(), early
}

// process is a shell with its two outputs.
type process struct {
	pid    int
	pipes  []*os.File
	copies sync.WaitGroup
	// exited is closed when the shell is a zombie, drained when its output
	// has ended. It is reaped only after that, so that its number cannot name
	// another process group meanwhile.
	exited, drained chan struct{}
}

func (p *process) start(cmd *exec.Cmd, j Job) (err error) {
	var ends []*os.File
	defer func() {
		for _, f := range ends {
			f.Close()
		}
		if err != nil {
			p.closePipes()
		}
	}()
	for range 2 {
		r, w, err := os.Pipe()
		if err != nil {
			return fmt.Errorf("make a pipe: %w", err)
		}
		p.pipes, ends = append(p.pipes, r), append(ends, w)
	}
	cmd.Stdout, cmd.Stderr = ends[0], ends[1]
	if err := cmd.Start(); err != nil {
		return plain(err, j.Dir)
	}
	p.pid, p.exited, p.drained = cmd.Process.Pid, make(chan struct{}), make(chan struct{})
	for i, w := range []io.Writer{j.Stdout, j.Stderr} {
		p.copies.Go(func() {
			// A pipe ends with an error only when it is closed below.
			_, _ = io.CopyBuffer(w, struct{ io.Reader }{p.pipes[i]}, make([]byte, 32<<10))
		})
	}
	go func() { p.copies.Wait(); close(p.drained) }()
	go func() { waitZombie(p.pid); close(p.exited) }()
	return nil
}

func (p *process) closePipes() {
	for _, f := range p.pipes {
		f.Close()
	}
}

// wait waits for the end and returns why it came early, if it did.
func (p *process) wait(ctx context.Context) (early error) {
	defer p.closePipes()
	select {
	case <-p.exited:
		select {
		case <-p.drained:
			return nil
		case <-ctx.Done():
		}
	case <-ctx.Done():
	}
	p.signal(unix.SIGTERM)
	if !p.over(grace) {
		p.signal(unix.SIGKILL)
		// A child that left the group may hold the output for ever.
		p.over(grace)
	}
	p.closePipes()
	<-p.exited
	<-p.drained
	return context.Cause(ctx)
}

// over reports whether the shell and its output end within d.
func (p *process) over(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	for _, c := range []chan struct{}{p.exited, p.drained} {
		select {
		case <-c:
		case <-t.C:
			return false
		}
	}
	return true
}

func (p *process) signal(sig unix.Signal) {
	// The group may be gone, as wanted.
	_ = unix.Kill(-p.pid, sig)
}

// waitZombie returns when a child has ended, and leaves it to be reaped. It
// holds no thread where the kernel has pidfds (Linux 5.10).
func waitZombie(pid int) {
	if fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK); err == nil {
		f := os.NewFile(uintptr(fd), "pidfd")
		defer f.Close()
		if c, err := f.SyscallConn(); err == nil && c.Read(func(uintptr) bool { return isZombie(pid, unix.WNOHANG) }) == nil {
			return
		}
	}
	for !isZombie(pid, 0) {
	}
}

// isZombie reports whether a child has ended; without WNOHANG it waits.
func isZombie(pid, options int) bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOWAIT|options, nil)
	return err == nil && info.Signo != 0 || err != nil && !errors.Is(err, unix.EINTR)
}

// plain words a failed start as the reference does.
func plain(err error, dir string) error {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return err
	}
	text := errno.Error()
	return fmt.Errorf("[Errno %d] %s: '%s'", int(errno), strings.ToUpper(text[:1])+text[1:], dir)
}

// secretNames are variables that hold the server's own secrets or its LLMs'.
var secretNames = map[string]bool{
	"SESSION_API_KEY": true, "LLM_API_KEY": true, "LMNR_PROJECT_API_KEY": true,
	"AWS_SECRET_ACCESS_KEY": true, "AWS_SESSION_TOKEN": true, "AWS_BEARER_TOKEN_BEDROCK": true,
}

// secretParts mark a variable of the server's configuration as secret.
var secretParts = []string{"KEY", "SECRET", "TOKEN", "PASSWORD", "HEADERS", "CREDENTIAL"}

// Environment returns the commands' part of an environment: everything but the
// server's keys, the keys of LLMs and tracing headers. AI_AGENT is set, so that
// programs can print for an agent (docs/openhands/sdk-wire.md section 10).
func Environment(environ []string) []string {
	out := make([]string, 0, len(environ)+1)
	told := false
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		switch {
		case secretVariable(name):
			continue
		case name == "AI_AGENT" && strings.TrimSpace(value) == "":
			continue
		case name == "AI_AGENT":
			told = true
		}
		out = append(out, kv)
	}
	if !told {
		out = append(out, "AI_AGENT=openhands")
	}
	return out
}

func secretVariable(name string) bool {
	if secretNames[name] || strings.HasSuffix(name, "_API_KEY") {
		return true
	}
	if strings.HasPrefix(name, "OTEL_") && strings.HasSuffix(name, "HEADERS") {
		return true
	}
	if !strings.HasPrefix(name, "OH_") && !strings.HasPrefix(name, "DEFT_") && !strings.HasPrefix(name, "LLM_") {
		return false
	}
	return slices.ContainsFunc(secretParts, func(part string) bool { return strings.Contains(name, part) })
}
