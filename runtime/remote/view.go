package remote

import (
	"bufio"
	"context"
	"io"
	"net"

	"github.com/deft-dev/deft/runtime/protocol"
	"github.com/deft-dev/deft/tool"
)

var _ tool.Viewer = (*Runtime)(nil)

// View implements [tool.Viewer]. It has a connection of its own, which outlives Close of the
// Runtime.
func (r *Runtime) View(ctx context.Context) (io.ReadWriteCloser, error) {
	conn, in, _, err := r.connect(ctx, "/v1/view", protocol.ViewUpgrade, nil)
	if err != nil {
		return nil, err
	}
	return viewConn{conn, in}, nil
}

// viewConn reads what was buffered with the answer first.
type viewConn struct {
	net.Conn
	in *bufio.Reader
}

// Read implements [io.Reader].
func (c viewConn) Read(b []byte) (int, error) { return c.in.Read(b) }
