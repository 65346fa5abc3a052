package socket

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// link is one accepted WebSocket. Package websocket does the handshake, reads frames
// and answers control frames. Data frames are written here: many of them share one
// write, and followers share their bytes.
type link struct {
	net.Conn
	ws      *websocket.Conn
	timeout time.Duration // for a write
	early   []byte        // received after the handshake's request

	mu       sync.Mutex // held while a write is not complete
	closed   bool       // a close frame was sent; no other may follow
	deadline time.Time  // of writes
}

// closeTimeout is how long a client may take to answer a close frame.
const closeTimeout = 2 * time.Second

// upgrade accepts a handshake. It has answered when it returns an error.
func upgrade(w http.ResponseWriter, r *http.Request, timeout time.Duration) (*link, error) {
	h := &hijack{ResponseWriter: w, l: &link{timeout: timeout}}
	ws, err := websocket.Accept(h, r, &websocket.AcceptOptions{InsecureSkipVerify: true}) // admit checks the origin
	if err != nil {
		return nil, err
	}
	h.l.ws = ws
	return h.l, nil
}

// hijack gives package websocket a link instead of the connection, with
// buffers for one small frame only.
type hijack struct {
	http.ResponseWriter
	l *link
}

// Hijack implements [http.Hijacker].
func (h *hijack) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, brw, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, fmt.Errorf("take over the connection: %w", err)
	}
	h.l.Conn = c
	if n := brw.Reader.Buffered(); n > 0 {
		h.l.early = make([]byte, n)
		_, _ = io.ReadFull(brw.Reader, h.l.early) // they are buffered
	}
	// The handshake's answer is still in brw.Writer.
	if err := brw.Writer.Flush(); err != nil {
		return nil, nil, errors.Join(err, c.Close())
	}
	return h.l, bufio.NewReadWriter(bufio.NewReaderSize(h.l, 512), bufio.NewWriterSize(h.l, 256)), nil
}

// Read implements [io.Reader] for package websocket.
func (l *link) Read(p []byte) (int, error) {
	if len(l.early) > 0 {
		n := copy(p, l.early)
		l.early = l.early[n:]
		return n, nil
	}
	return l.Conn.Read(p)
}

// The first bytes of frames (RFC 6455 section 5.2).
const (
	opText   = 0x81
	opBinary = 0x82
	opClose  = 0x88
	opPing   = 0x89
)

// Write implements [io.Writer] for package websocket, which writes whole control
// frames. After a close frame all are dropped.
func (l *link) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return len(p), nil
	}
	l.closed = len(p) > 0 && p[0] == opClose
	return l.put(p)
}

// put writes within the time limit.
func (l *link) put(p []byte) (int, error) {
	if err := l.due(l.timeout); err != nil {
		return 0, err
	}
	return l.Conn.Write(p)
}

// header appends the first bytes of a text frame of n bytes.
func header(b []byte, n int) []byte {
	switch {
	case n < 126:
		return append(b, opText, byte(n))
	case n < 1<<16:
		return append(b, opText, 126, byte(n>>8), byte(n))
	}
	return binary.BigEndian.AppendUint64(append(b, opText, 127), uint64(n))
}

// errGone is the error of a client that has disconnected or stopped reading.
var errGone = errors.New("the client is gone")

// send writes whole frames without copying them.
func (l *link) send(pieces net.Buffers) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return errGone
	}
	return l.putAll(&pieces, l.timeout)
}

func (l *link) putAll(pieces *net.Buffers, within time.Duration) error {
	err := l.due(within)
	if err == nil {
		if p := *pieces; len(p) == 1 { // one write is cheaper than a list of one
			var n int
			if n, err = l.Conn.Write(p[0]); err != nil {
				p[0] = p[0][n:]
			}
		} else {
			_, err = pieces.WriteTo(l.Conn)
		}
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errGone, err)
	}
	return nil
}

// due sets the deadline of a write. The long one is set only when it would move by
// a tenth or more, because setting it costs as much as a small frame.
func (l *link) due(within time.Duration) error {
	now := time.Now()
	at := now.Add(within)
	if within == l.timeout && !l.deadline.Before(at) && l.deadline.Before(at.Add(within/5)) {
		return nil
	}
	if within == l.timeout {
		at = at.Add(within / 10)
	}
	l.deadline = at
	return l.SetWriteDeadline(at)
}

// sendText writes one text frame.
func (l *link) sendText(p []byte) error {
	var h [10]byte
	return l.send(net.Buffers{header(h[:0], len(p)), p})
}

// tryTimeout is how long try waits for a client.
const tryTimeout = 50 * time.Millisecond

// try writes whole frames like send, but gives up after tryTimeout. The caller must
// then pass the remaining bytes to rest; until then nothing else can be written.
func (l *link) try(pieces net.Buffers) (left net.Buffers, err error) {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil, errGone
	}
	_, plain := l.Conn.(*net.TCPConn)
	within := l.timeout
	if plain {
		within = tryTimeout
	}
	err = l.putAll(&pieces, within)
	if plain && errors.Is(err, os.ErrDeadlineExceeded) && len(pieces) > 0 {
		return pieces, nil
	}
	l.mu.Unlock()
	return nil, err
}

// rest writes the bytes that try left.
func (l *link) rest(left net.Buffers) error {
	defer l.mu.Unlock()
	return l.putAll(&left, l.timeout)
}

// ping sends a ping, unless a write is under way. For a client that reads nothing it
// takes as long as any other write.
func (l *link) ping() {
	if !l.mu.TryLock() {
		return
	}
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	if _, err := l.put([]byte{opPing, 0}); err != nil {
		_ = l.Conn.Close() // the reader ends
	}
}

// shut sends a close frame. The reader ends when the client answers it, or after
// closeTimeout.
func (l *link) shut(code websocket.StatusCode, reason string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writeClose(code, reason)
}

// end is shut for the end of a feed.
func (l *link) end(e ending) { l.shut(e.code, e.reason) }

// goAway is shut for a server that stops: it does not wait for a client that reads
// nothing.
func (l *link) goAway() {
	if !l.mu.TryLock() { // a write is under way
		late := time.AfterFunc(2*tryTimeout, func() { _ = l.Conn.Close() }) // the reader ends
		l.mu.Lock()
		late.Stop()
	}
	defer l.mu.Unlock()
	l.writeClose(websocket.StatusGoingAway, "")
}

func (l *link) writeClose(code websocket.StatusCode, reason string) {
	if l.closed {
		return
	}
	l.closed = true
	b := append(binary.BigEndian.AppendUint16([]byte{opClose, byte(2 + len(reason))}, uint16(code)), reason...)
	err := l.due(closeTimeout)
	if err == nil {
		_, err = l.Conn.Write(b)
	}
	if err == nil {
		err = l.SetReadDeadline(time.Now().Add(closeTimeout))
	}
	if err != nil {
		_ = l.Conn.Close() // the reader ends
	}
}

// abort closes the connection at once.
func (l *link) abort() {
	_ = l.ws.CloseNow() // it may be closed already
}

// closeSent reports whether a close frame was sent.
func (l *link) closeSent() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

// unblock ends a write that is under way and prevents others.
func (l *link) unblock() {
	if l.mu.TryLock() {
		l.closed = true
		l.mu.Unlock()
		return
	}
	_ = l.Conn.Close() // the writer ends
}
