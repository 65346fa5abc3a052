package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/tool"
)

// stdio is a running server over stdio. It is an [sdk.Transport].
type stdio struct {
	tool.Process
	server  *server
	printed printed
}

// start starts a server's program.
func start(ctx context.Context, sv *server) (*stdio, error) {
	with, s := sv.set.opts.Programs, sv.config
	if with == nil {
		return nil, fault.New(fault.Unsupported, "servers over stdio cannot be started here")
	}
	p, err := with.StartProgram(ctx, tool.Program{Command: s.Command, Args: s.Args, Dir: s.Cwd, Env: s.Env, Network: s.Network})
	if err != nil {
		return nil, err
	}
	return &stdio{Process: p, server: sv, printed: printed{server: sv}}, nil
}

// Connect implements [sdk.Transport].
func (p *stdio) Connect(ctx context.Context) (sdk.Connection, error) {
	return (&sdk.IOTransport{Reader: newLines(p, p.printed.add, p.server.changes.announce), Writer: p, MaxLineLength: maxMessage}).Connect(ctx)
}

// explain adds the end of the program's stderr to an error, or else of its other output. It
// ends the program first, so that this is complete.
func (p *stdio) explain(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, io.EOF) || errors.Is(err, sdk.ErrConnectionClosed) || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) {
		err = errEnded
	}
	_ = p.Close() // its output matters
	said := cmp.Or(p.printed.server.shown(p.Stderr(), maxStderr), p.printed.end())
	if said == "" {
		return err
	}
	return fmt.Errorf("%w; it said: %s", err, said)
}

var errEnded = errors.New("the program has ended without an answer")

var errClosed = errors.New("the MCP client has been closed and cannot be reconnected")
