package mcp

import (
	"context"
	"errors"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/tool"
)

// stdio is a running server over stdio. It is an [sdk.Transport].
type stdio struct{ tool.Process }

// start starts a server's program.
func start(ctx context.Context, s Server, with tool.Starter) (*stdio, error) {
	if with == nil {
		return nil, fault.New(fault.Unsupported, "servers over stdio cannot be started here")
	}
	p, err := with.StartProgram(ctx, tool.Program{Command: s.Command, Args: s.Args, Dir: s.Cwd, Env: s.Env, Network: s.Network})
	if err != nil {
		return nil, err
	}
	return &stdio{p}, nil
}

// Connect implements [sdk.Transport].
func (p *stdio) Connect(ctx context.Context) (sdk.Connection, error) {
	return (&sdk.IOTransport{Reader: newLines(p), Writer: p, MaxLineLength: maxMessage}).Connect(ctx)
}

// explain adds the program's stderr to an error. It ends the program first, so
// that this is complete.
func (p *stdio) explain(err error) error {
	if err == nil {
		return nil
	}
	_ = p.Close() // its output matters
	said := describe(p.Stderr(), maxStderr)
	if said == "" {
		return err
	}
	return fmt.Errorf("%w; it said: %s", err, said)
}

var errClosed = errors.New("the MCP client has been closed and cannot be reconnected")
