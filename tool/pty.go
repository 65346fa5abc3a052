package tool

import (
	"context"
	"io"
	"time"
)

// PTYSpec describes a new pseudo terminal and its program.
type PTYSpec struct {
	// Argv is the program; empty for a shell: SHELL, else bash, else sh.
	Argv []string `json:"argv,omitempty"`
	// Dir is its working directory; empty for the workspace.
	Dir string `json:"dir,omitempty"`
	// Term is the terminal's type, as in TERM; empty for xterm-256color.
	Term string `json:"term,omitempty"`
	// Rows and Cols are its size, at most MaxPTYSize; 0 takes 24 and 80.
	Rows int `json:"rows,omitempty"`
	Cols int `json:"cols,omitempty"`
	// Plain passes output on unchanged, without a carriage return at each end of a
	// line, and gives the program an empty standard input.
	Plain bool `json:"plain,omitempty"`
}

// MaxPTYSize is how many rows and columns a pseudo terminal may have.
const MaxPTYSize = 4096

// PTY describes a pseudo terminal.
type PTY struct {
	ID      string    `json:"id"`
	Argv    []string  `json:"argv"`
	Started time.Time `json:"started"`
	Rows    int       `json:"rows"`
	Cols    int       `json:"cols"`
	// Attached says that a client is connected to it.
	Attached bool `json:"attached"`
	// ExitCode is its program's, in the way of shells; nil while that runs.
	ExitCode *int `json:"exit_code,omitempty"`
}

// PTYs are the pseudo terminals of one sandbox, or of this process where there is no
// sandbox. They end with it. A terminal goes on when its client disconnects; one that
// has ended is kept until it is closed, or until its place is needed. Implementations
// are safe for concurrent use.
//
// Errors: fault.NotFound for an unknown id, fault.Invalid for an impossible size or
// program, fault.RateLimit if there are too many, fault.Unavailable if nothing answers.
type PTYs interface {
	// OpenPTY makes a terminal and starts its program.
	OpenPTY(ctx context.Context, s PTYSpec) (PTY, error)
	// AttachPTY connects to a terminal. A client that is connected already is
	// disconnected with fault.Conflict: the connection may be lost without notice.
	// Output begins behind the first offset bytes that the terminal has written, or
	// with the oldest that are kept; see [PTYConn].
	AttachPTY(ctx context.Context, id string, offset int64) (PTYConn, error)
	// ResizePTY changes the size, which its programs are notified of.
	ResizePTY(ctx context.Context, id string, rows, cols int) error
	// ClosePTY ends the programs of a terminal and forgets it.
	ClosePTY(ctx context.Context, id string) error
	// ListPTYs returns the terminals, the oldest first.
	ListPTYs(ctx context.Context) ([]PTY, error)
}

// PTYConn is a connection to a pseudo terminal: Read gives its output, Write its
// input. A program waits with its output for a connected client that does not read;
// without a client the oldest output is dropped. Read and Write may be called
// concurrently, and Close at any time.
type PTYConn interface {
	// Read returns io.EOF when the program has ended and all output was read,
	// fault.Conflict when another client has connected, and fault.Unavailable when the
	// connection was lost: AttachPTY again, with the Offset plus the bytes that were
	// read.
	io.ReadWriteCloser
	// Offset is how many bytes the terminal had written before the first one that Read
	// gives. It is greater than AttachPTY's argument if older output is no longer
	// kept.
	Offset() int64
	// ExitCode is the program's, once Read has returned io.EOF.
	ExitCode() int
}
