package tool

import (
	"context"
	"io"
	"log/slog"
)

// Program is a program whose caller talks to it over its standard input and
// output: an MCP server over stdio. Formatting one shows no value of Env, which
// may be secrets.
type Program struct {
	Command string // a name, which is looked up in the PATH of the [Starter], or a path
	Args    []string
	Dir     string            // its working directory; empty for the Starter's choice
	Env     map[string]string // variables beside those that the Starter gives every program
	// Network are hosts, in the form of sandbox.Network, that this program alone may
	// reach beside the hosts of its conversation's commands. A Starter that cannot
	// grant them to this program alone refuses it with fault.Unsupported. Where
	// nothing limits the network they have no effect.
	Network []string
}

// String returns the command.
func (p Program) String() string { return p.Command }

// GoString implements [fmt.GoStringer].
func (p Program) GoString() string { return p.Command }

// LogValue implements [slog.LogValuer].
func (p Program) LogValue() slog.Value { return slog.StringValue(p.Command) }

// Starter starts programs: in the sandbox of a conversation, or in this process
// where there is none. Runtimes implement it. It is safe for concurrent use.
type Starter interface {
	// StartProgram starts a program. When ctx ends during the start, the start
	// fails; afterwards ctx has no effect. Errors: fault.NotFound if there is no
	// such program, fault.Denied if it may not be run, fault.Invalid, and
	// fault.Unavailable if there is nothing to start it.
	StartProgram(ctx context.Context, p Program) (Process, error)
}

// Process is a running program. The caller must close it. Read and Write may be
// called concurrently, and Close at any time.
type Process interface {
	// Read reads the program's standard output; io.EOF is its end. Write writes
	// to its standard input; the error wraps syscall.EPIPE once the program has ended.
	io.ReadWriter
	// Close ends the program and waits for that: end of input, then SIGTERM,
	// then SIGKILL, to all processes of its group.
	io.Closer
	// Stderr returns the end of the program's standard error. It is complete after
	// Close.
	Stderr() string
}
