package remote

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http/httputil"
	"sync"
	"syscall"
	"time"

	"github.com/deft-dev/deft/runtime/protocol"
	"github.com/deft-dev/deft/tool"
)

var _ tool.Starter = (*Runtime)(nil)

// endTimeout bounds the wait for the end of a program, which the server ends
// within about four seconds.
const endTimeout = 10 * time.Second

// maxEnd is how many bytes a ProgramEnd may have.
const maxEnd = 64 << 10

// StartProgram implements [tool.Starter]. The program has a connection of its own
// and outlives Close of the Runtime.
func (r *Runtime) StartProgram(ctx context.Context, p tool.Program) (tool.Process, error) {
	body, err := protocol.EncodeProgram(p)
	if err != nil {
		return nil, err
	}
	conn, in, _, err := r.connect(ctx, "/v1/programs", protocol.Upgrade, body)
	if err != nil {
		return nil, err
	}
	return newProcess(conn, in), nil
}

// process is a program at the other end of a connection.
type process struct {
	conn net.Conn
	out  *io.PipeReader

	writing sync.Mutex
	in      io.WriteCloser // chunks

	once   sync.Once
	ended  chan struct{} // closed when the rest is set
	stderr string
}

var _ tool.Process = (*process)(nil)

func newProcess(conn net.Conn, in *bufio.Reader) *process {
	out, write := io.Pipe()
	p := &process{conn: conn, out: out, in: httputil.NewChunkedWriter(conn), ended: make(chan struct{})}
	go p.receive(in, write)
	return p
}

// receive passes the output on until the program has ended.
func (p *process) receive(in *bufio.Reader, out *io.PipeWriter) {
	defer close(p.ended)
	defer p.conn.Close()
	chunks := httputil.NewChunkedReader(in)
	if _, err := io.Copy(out, chunks); errors.Is(err, io.ErrClosedPipe) { // Close has ended it
		_, _ = io.Copy(io.Discard, chunks)
	}
	var end protocol.ProgramEnd
	if json.NewDecoder(io.LimitReader(in, maxEnd)).Decode(&end) == nil { // else the sandbox has ended
		p.stderr = end.Stderr
	}
	out.Close()
}

// Read implements [tool.Process].
func (p *process) Read(b []byte) (int, error) {
	n, err := p.out.Read(b)
	if errors.Is(err, io.ErrClosedPipe) {
		err = io.EOF
	}
	return n, err
}

// Write implements [tool.Process].
func (p *process) Write(b []byte) (int, error) {
	p.writing.Lock()
	defer p.writing.Unlock()
	n, err := p.in.Write(b)
	if errors.Is(err, net.ErrClosed) || errors.Is(err, syscall.ECONNRESET) { // receive has seen the end
		err = syscall.EPIPE
	}
	return n, err
}

// Close implements [tool.Process]. If input is still being written, or the server
// does not answer, it disconnects: the server then ends the program too.
func (p *process) Close() error {
	p.once.Do(func() {
		p.out.Close()
		late := time.AfterFunc(endTimeout, func() { p.conn.Close() })
		defer late.Stop()
		if !p.writing.TryLock() {
			p.conn.Close()
		} else {
			err := p.in.Close()
			p.writing.Unlock()
			if err != nil {
				p.conn.Close() // it is lost already
			}
		}
		<-p.ended
	})
	return nil
}

// Stderr implements [tool.Process].
func (p *process) Stderr() string {
	select {
	case <-p.ended:
		return p.stderr
	default:
		return ""
	}
}
