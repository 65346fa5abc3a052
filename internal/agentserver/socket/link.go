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

// link is one accepted WebSocket. Package websocket does the handshake, reads
// frames and answers control frames; data frames are written here, because
// many of them go out in one write and their bytes are shared by followers.
type link struct {
	net.Conn
	ws      *websocket.Conn
	timeout time.Duration // for a write
	early   []byte        // what came behind the handshake's request

	mu       sync.Mutex // held while a write is not complete
	closed   bool       // no frame may follow: a close frame went out
	deadline time.Time  // of writes, as it was set last
}

// patience is how long a client may take to answer a close frame.
const patience = 2 * time.Second

// upgrade accepts a handshake. It has been answered when an error returns.
func upgrade(w http.ResponseWriter, r *http.Request, timeout time.Duration) (*link, error) {
	h := &hijack{ResponseWriter: w, l: &link{timeout: timeout}}
	ws, err := websocket.Accept(h, r, &websocket.AcceptOptions{InsecureSkipVerify: true}) // looked at by admit
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
		_, _ = io.ReadFull(brw.Reader, h.l.early) // it is in the buffer
	}
	// The handshake's answer is in brw.Writer still.
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
	opText  = 0x81
	opClose = 0x88
	opPing  = 0x89
)

// Write implements [io.Writer] for package websocket: it is given a whole
// control frame each time. Behind a close frame all is dropped.
func (l *link) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return len(p), nil
	}
	l.closed = len(p) > 0 && p[0] == opClose
	return l.put(p)
}

// put writes within the time that a client may take.
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

// errGone is the error of a client that takes nothing more.
var errGone = errors.New("the client is gone")

// send writes whole frames, in pieces that are not copied.
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

// due sets the time by which a write must be done. Within the long one, a
// tenth more or less is nothing, and setting it costs as much as a small frame.
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

// moment is how long a write may take before its caller is told.
const moment = 50 * time.Millisecond

// try writes whole frames like send, but gives up after a moment. What is left
// then must be handed to rest, before which nobody else can write.
func (l *link) try(pieces net.Buffers) (left net.Buffers, err error) {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil, errGone
	}
	_, plain := l.Conn.(*net.TCPConn)
	within := l.timeout
	if plain {
		within = moment
	}
	err = l.putAll(&pieces, within)
	if plain && errors.Is(err, os.ErrDeadlineExceeded) && len(pieces) > 0 {
		return pieces, nil
	}
	l.mu.Unlock()
	return nil, err
}

// rest writes what try left.
func (l *link) rest(left net.Buffers) error {
	defer l.mu.Unlock()
	return l.putAll(&left, l.timeout)
}

// ping sends a ping, unless something is being written anyway.
func (l *link) ping() {
	if !l.mu.TryLock() {
		return
	}
	defer l.mu.Unlock()
	if l.closed || l.due(10*time.Millisecond) != nil {
		return
	}
	if _, err := l.Conn.Write([]byte{opPing, 0}); err != nil {
		_ = l.Conn.Close() // its reader sees it
	}
}

// shut sends a close frame and gives the client a moment to answer it: who
// reads from the link ends by then.
func (l *link) shut(code websocket.StatusCode, reason string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.farewell(code, reason)
}

// end is shut for the end of a feed.
func (l *link) end(e ending) { l.shut(e.code, e.reason) }

// goAway is shut for a server that stops, which does not wait for a client
// that takes nothing.
func (l *link) goAway() {
	if !l.mu.TryLock() { // something is being written
		late := time.AfterFunc(2*moment, func() { _ = l.Conn.Close() }) // its reader sees it
		l.mu.Lock()
		late.Stop()
	}
	defer l.mu.Unlock()
	l.farewell(websocket.StatusGoingAway, "")
}

func (l *link) farewell(code websocket.StatusCode, reason string) {
	if l.closed {
		return
	}
	l.closed = true
	b := append(binary.BigEndian.AppendUint16([]byte{opClose, byte(2 + len(reason))}, uint16(code)), reason...)
	err := l.due(patience)
	if err == nil {
		_, err = l.Conn.Write(b)
	}
	if err == nil {
		err = l.SetReadDeadline(time.Now().Add(patience))
	}
	if err != nil {
		_ = l.Conn.Close() // its reader sees it
	}
}

// abort closes the connection at once.
func (l *link) abort() {
	_ = l.ws.CloseNow() // closed already, or nobody is left to tell
}

// saidFarewell reports whether a close frame went out.
func (l *link) saidFarewell() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

// unblock ends a write that is under way, and lets no other begin.
func (l *link) unblock() {
	if l.mu.TryLock() {
		l.closed = true
		l.mu.Unlock()
		return
	}
	_ = l.Conn.Close() // whoever writes sees it
}
