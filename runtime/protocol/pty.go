package protocol

import (
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/tool"
)

const (
	// PTYUpgrade is the protocol of a connection to a pseudo terminal.
	PTYUpgrade = "deft-pty"
	// OffsetHeader tells where the output on a connection to a terminal begins.
	OffsetHeader = "Deft-Offset"
)

// PTYs are the terminals of a server.
type PTYs struct {
	PTYs []tool.PTY `json:"ptys"`
}

// PTYSize is the size of a terminal.
type PTYSize struct {
	Rows int `json:"rows"`
	Cols int `json:"cols"`
}

// PTYEnd is why a connection to a terminal ends: the exit code of its program, or an
// error.
type PTYEnd struct {
	ExitCode int    `json:"exit_code"`
	Error    *Error `json:"error,omitempty"`
}

// PTYEndOf returns the end of a connection whose terminal has ended with a code, or
// with an error.
func PTYEndOf(code int, err error) PTYEnd {
	if err != nil {
		return PTYEnd{Error: ErrorOf(err)}
	}
	return PTYEnd{ExitCode: code}
}

// NoPTYs is the error of a server without terminals.
func NoPTYs() error { return fault.New(fault.Unsupported, "this action server opens no terminals") }
