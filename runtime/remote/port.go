package remote

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"strconv"
	"sync"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/runtime/protocol"
)

// Ports returns the TCP ports on which programs in the sandbox listen. Unsupported
// where the sandbox has no network of its own.
func (r *Runtime) Ports(ctx context.Context) ([]protocol.Port, error) {
	var list protocol.Ports
	err := r.call(ctx, http.MethodGet, "/v1/ports", nil, &list)
	return list.Ports, err
}

// DialPort connects to a program in the sandbox by its TCP port. The connection outlives
// Close of the Runtime. Unavailable if nothing listens there.
func (r *Runtime) DialPort(ctx context.Context, port int) (*PortConn, error) {
	conn, in, _, err := r.connect(ctx, "/v1/ports/"+strconv.Itoa(port)+"/connect", protocol.PortUpgrade, nil)
	if err != nil {
		return nil, err
	}
	return &PortConn{conn: conn, in: in, out: httputil.NewChunkedReader(in), input: httputil.NewChunkedWriter(conn)}, nil
}

// PortConn is a connection to a program in the sandbox. One goroutine at a time may
// read, and one may write.
type PortConn struct {
	conn  net.Conn
	in    *bufio.Reader
	out   io.Reader // chunks of in
	input io.WriteCloser

	ended sync.Once
}

// Read implements [io.Reader]; io.EOF when the program has closed its side.
func (c *PortConn) Read(b []byte) (int, error) { return c.out.Read(b) }

// Write implements [io.Writer].
func (c *PortConn) Write(b []byte) (int, error) {
	if len(b) == 0 { // an empty chunk is the last one
		return 0, nil
	}
	return c.input.Write(b)
}

// CloseWrite says that nothing more will be written.
func (c *PortConn) CloseWrite() (err error) {
	c.ended.Do(func() {
		if err = c.input.Close(); err == nil {
			_, err = io.WriteString(c.conn, "\r\n") // the chunked form ends with an empty line
		}
	})
	return fault.Wrap(err, fault.Unavailable, "end the input")
}

// Close gives the connection up.
func (c *PortConn) Close() error { return c.conn.Close() }
