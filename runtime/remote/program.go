package remote

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"sync"
	"time"

	"github.com/deft-dev/deft/fault"
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
	ctx, done := r.while(ctx)
	defer done()
	body, err := protocol.EncodeProgram(p)
	if err != nil {
		return nil, err
	}
	conn, err := r.dial(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil, r.left(ctx)
		}
		return nil, fault.Wrap(err, fault.Unavailable, "the action server cannot be reached")
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	in, err := upgrade(conn, body)
	if !stop() {
		return nil, r.left(ctx)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return newProcess(conn, in), nil
}

// upgrade asks for a program, and returns what its answer is read from.
func upgrade(conn net.Conn, body []byte) (*bufio.Reader, error) {
	lost := func(err error) error {
		return fault.Wrap(err, fault.Unavailable, "the connection to the action server was lost")
	}
	req, err := http.NewRequest(http.MethodPost, host+"/v1/programs", bytes.NewReader(body)) //nolint:noctx // the caller closes the connection
	if err != nil {
		return nil, lost(err)
	}
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", protocol.Upgrade)
	if err := req.Write(conn); err != nil {
		return nil, lost(err)
	}
	in := bufio.NewReaderSize(conn, 32<<10)
	resp, err := http.ReadResponse(in, req)
	if err != nil {
		return nil, lost(err)
	}
	if resp.StatusCode == http.StatusSwitchingProtocols && strings.EqualFold(resp.Header.Get("Upgrade"), protocol.Upgrade) {
		return in, nil // the connection stays, and the answer has no body
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxEnd))
	if err != nil {
		return nil, lost(err)
	}
	var line protocol.Line
	if err := json.Unmarshal(raw, &line); err != nil || line.Error == nil {
		return nil, fault.New(fault.Corrupt, "the action server answered with HTTP status "+resp.Status)
	}
	return nil, line.Error.Err()
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
	return p.in.Write(b)
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
