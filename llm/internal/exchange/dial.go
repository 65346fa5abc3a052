package exchange

import (
	"context"
	"io"
	"net"
	"sync"
)

// dialer makes connections that need little memory to send bodies.
type dialer struct {
	connect func(ctx context.Context, network, address string) (net.Conn, error)
}

func (d *dialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := d.connect(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &connection{c}, nil
}

// connection is a net.Conn whose ReadFrom uses a pooled buffer: net/http passes
// bodies to the ReadFrom of a TCP connection, which allocates a buffer for each
// body.
type connection struct{ net.Conn }

const copyLen = 32 << 10

var copyBuffers = sync.Pool{New: func() any { return new([copyLen]byte) }}

// ReadFrom implements io.ReaderFrom.
func (c *connection) ReadFrom(r io.Reader) (int64, error) {
	buf := copyBuffers.Get().(*[copyLen]byte)
	defer copyBuffers.Put(buf)
	return io.CopyBuffer(onlyWriter{c.Conn}, onlyReader{r}, buf[:])
}

// onlyWriter and onlyReader hide the methods that would keep io.CopyBuffer from
// using its buffer.
type (
	onlyWriter struct{ io.Writer }
	onlyReader struct{ io.Reader }
)
