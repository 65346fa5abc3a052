// Package command runs a program by its arguments inside the sandbox, for Deft
// itself: git for a diffstat, for example. It is not offered to models, and its
// runs are not part of the conversation. Such programs run in the sandbox too,
// because a workspace is hostile: its git configuration can name programs to run.
//
// # Usage
//
//	obs, err := rt.Execute(ctx, tool.Request{Call: tool.Call{ID: event.NewID(), Action: &command.Action{Argv: argv}}})
//
// # Concurrency and failure
//
// Safe for concurrent use. A program that cannot be started or fails gives an
// Observation with the error or the exit code; Close ends running programs.
package command

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/tool"
)

// Kinds of the package's action and observation.
const (
	ActionKind      = "DeftCommandAction"
	ObservationKind = "DeftCommandObservation"
)

// timeout bounds a program that names no other limit, and maxOutput each of its outputs, in bytes.
const (
	timeout   = 30 * time.Second
	maxOutput = 1 << 20
)

func init() {
	event.RegisterAction[Action]()
	event.RegisterObservation[Observation]()
}

// Action asks for one program to be run.
type Action struct {
	event.ActionBase
	Argv []string `json:"argv"` // the program is looked up in PATH
	Dir  string   `json:"dir"`  // absolute
	// Seconds bounds how long it may run; 0 takes 30.
	Seconds int `json:"seconds,omitempty"`
	// Stdin is its standard input, and Env are variables, as NAME=VALUE, beside those of the
	// executor.
	Stdin string   `json:"stdin,omitempty"`
	Env   []string `json:"env,omitempty"`
}

// Kind implements [event.Action].
func (*Action) Kind() string { return ActionKind }

// Observation is the program's output. ExitCode is -1 if it was not started or
// was killed; Content then says why.
type Observation struct {
	event.ObservationBase
	ExitCode int    `json:"exit_code"`
	Stdout   string `json:"stdout"`
	Stderr   string `json:"stderr"`
	// TimedOut says that it was killed because its time was over.
	TimedOut bool `json:"timed_out,omitempty"`
}

// Kind implements [event.Observation].
func (*Observation) Kind() string { return ObservationKind }

// New returns the executor. Programs get the environment env. start, unless nil,
// changes the path and the arguments by which they are started.
func New(env []string, start func(path string, args []string) (string, []string)) tool.Executor {
	ctx, cancel := context.WithCancel(context.Background())
	return &executor{env: env, start: start, ctx: ctx, cancel: cancel}
}

type executor struct {
	env    []string
	start  func(path string, args []string) (string, []string)
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
}

// Execute implements [tool.Executor].
func (x *executor) Execute(ctx context.Context, c tool.Call) (event.Observation, error) {
	a, ok := c.Action.(*Action)
	if !ok || len(a.Argv) == 0 {
		return failed("there is no program to run"), nil
	}
	limit := timeout
	if a.Seconds > 0 {
		limit = time.Duration(a.Seconds) * time.Second
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	defer context.AfterFunc(x.ctx, cancel)()
	var stdout, stderr bounded
	cmd := exec.CommandContext(ctx, a.Argv[0], a.Argv[1:]...)
	if cmd.Err == nil && x.start != nil {
		cmd.Path, cmd.Args = x.start(cmd.Path, cmd.Args)
	}
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = a.Dir, slices.Concat(x.env, a.Env), &stdout, &stderr
	if a.Stdin != "" {
		cmd.Stdin = strings.NewReader(a.Stdin)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // it has ended well, and what it has started goes on with its output
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return failed(err.Error()), nil
	}
	return &Observation{
		ExitCode: cmd.ProcessState.ExitCode(), Stdout: stdout.String(), Stderr: stderr.String(),
		TimedOut: err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded),
	}, nil
}

// Close implements [tool.Executor].
func (x *executor) Close() error {
	x.cancel()
	return nil
}

func failed(why string) *Observation {
	return &Observation{ExitCode: -1, ObservationBase: event.ObservationBase{Content: event.Texts(why), IsError: true}}
}

// bounded keeps the first maxOutput bytes that are written to it.
type bounded struct{ buf bytes.Buffer }

// Write implements io.Writer.
func (b *bounded) Write(p []byte) (int, error) {
	if space := maxOutput - b.buf.Len(); space > 0 {
		b.buf.Write(p[:min(space, len(p))])
	}
	return len(p), nil
}

func (b *bounded) String() string { return b.buf.String() }
