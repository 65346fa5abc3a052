package remote

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"sync"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/runtime/protocol"
	"github.com/deft-dev/deft/tool"
)

var _ tool.PTYs = (*Runtime)(nil)

func ptyPath(id string) string { return "/v1/ptys/" + url.PathEscape(id) }

// send posts a value as JSON.
func (r *Runtime) send(ctx context.Context, path string, value, out any) error {
	body, err := json.Marshal(value)
	if err != nil {
		return fault.Wrap(err, fault.Invalid, "the request has no JSON")
	}
	return r.call(ctx, http.MethodPost, path, body, out)
}

// OpenPTY implements [tool.PTYs].
func (r *Runtime) OpenPTY(ctx context.Context, s tool.PTYSpec) (p tool.PTY, err error) {
	return p, r.send(ctx, "/v1/ptys", s, &p)
}

// ListPTYs implements [tool.PTYs].
func (r *Runtime) ListPTYs(ctx context.Context) ([]tool.PTY, error) {
	var list protocol.PTYs
	err := r.call(ctx, http.MethodGet, "/v1/ptys", nil, &list)
	return list.PTYs, err
}

// ResizePTY implements [tool.PTYs].
func (r *Runtime) ResizePTY(ctx context.Context, id string, rows, cols int) error {
	return r.send(ctx, ptyPath(id)+"/resize", protocol.PTYSize{Rows: rows, Cols: cols}, nil)
}

// ClosePTY implements [tool.PTYs].
func (r *Runtime) ClosePTY(ctx context.Context, id string) error {
	return r.call(ctx, http.MethodDelete, ptyPath(id), nil, nil)
}

// AttachPTY implements [tool.PTYs]. The terminal has a connection of its own, which
// outlives Close of the Runtime.
func (r *Runtime) AttachPTY(ctx context.Context, id string, offset int64) (tool.PTYConn, error) {
	path := ptyPath(id) + "/attach?offset=" + strconv.FormatInt(offset, 10)
	conn, in, header, err := r.connect(ctx, path, protocol.PTYUpgrade, nil)
	if err != nil {
		return nil, err
	}
	first, err := strconv.ParseInt(header.Get(protocol.OffsetHeader), 10, 64)
	if err != nil {
		conn.Close()
		return nil, fault.Wrap(err, fault.Corrupt, "the action server's answer has no offset")
	}
	return &ptyConn{
		conn: conn, in: in, first: first,
		out: httputil.NewChunkedReader(in), input: httputil.NewChunkedWriter(conn),
	}, nil
}

// ptyConn is the client's end of a connection to a terminal.
type ptyConn struct {
	conn  net.Conn
	in    *bufio.Reader
	first int64
	out   io.Reader // chunks of in
	end   error     // of Read, once it is known

	writing sync.Mutex
	input   io.WriteCloser // chunks

	mu     sync.Mutex
	code   int
	closed bool
}

var _ tool.PTYConn = (*ptyConn)(nil)

// Offset implements [tool.PTYConn].
func (c *ptyConn) Offset() int64 { return c.first }

// ExitCode implements [tool.PTYConn].
func (c *ptyConn) ExitCode() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.code
}

// Read implements [tool.PTYConn]. One goroutine at a time may call it.
func (c *ptyConn) Read(b []byte) (int, error) {
	if c.end != nil {
		return 0, c.end
	}
	n, err := c.out.Read(b)
	switch {
	case err == nil:
		return n, nil
	case errors.Is(err, io.EOF):
		c.end = c.readEnd()
	default:
		c.end = c.cut(err)
	}
	return n, c.end
}

// readEnd reads why the connection ends.
func (c *ptyConn) readEnd() error {
	var end protocol.PTYEnd
	if err := json.NewDecoder(io.LimitReader(c.in, maxEnd)).Decode(&end); err != nil {
		return c.cut(err)
	}
	if end.Error != nil {
		return end.Error.Err()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.code = end.ExitCode
	return io.EOF
}

// cut is the error of a connection that ended too early.
func (c *ptyConn) cut(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return fault.New(fault.Canceled, "the connection to the terminal is closed")
	}
	return lost(err)
}

// Write implements [tool.PTYConn].
func (c *ptyConn) Write(b []byte) (int, error) {
	if len(b) == 0 { // an empty chunk would be the end
		return 0, nil
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	n, err := c.input.Write(b)
	if err != nil {
		return n, c.cut(err)
	}
	return n, nil
}

// Close implements [tool.PTYConn]. The loss of the connection detaches the client.
func (c *ptyConn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	c.closed = true
	return c.conn.Close()
}
