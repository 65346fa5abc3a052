package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"

	"github.com/deft-dev/deft/event"
)

// frames is a WebSocket to a conversation's events that does hardly anything with
// them: a thousand busy clients would take processor time from the measured
// server, which runs on the same machine.
type frames struct {
	net.Conn
	in      *bufio.Reader
	payload *[]byte // of the last frame, one of bodies
}

// listen opens a WebSocket (RFC 6455).
func (s *server) listen(ctx context.Context, id event.ConversationID) (*frames, error) {
	u, err := url.Parse(s.url)
	if err != nil {
		return nil, err
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return nil, err
	}
	_, err = fmt.Fprintf(conn, "GET /sockets/events/%s HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n", id, u.Host)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	in := bufio.NewReader(conn)
	res, err := http.ReadResponse(in, nil)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	_ = res.Body.Close() // there is none
	if res.StatusCode != http.StatusSwitchingProtocols {
		return nil, errors.Join(fmt.Errorf("follow %s: %s", id, res.Status), conn.Close())
	}
	return &frames{Conn: conn, in: in}, nil
}

// Read reads bytes as they come, whatever frames they are of.
func (f *frames) Read(p []byte) (int, error) { return f.in.Read(p) }

const (
	opClose = 0x8
	opPing  = 0x9
	opPong  = 0xa
)

// next returns the payload of the next text frame; it is valid until the next
// call.
func (f *frames) next() ([]byte, error) {
	for {
		op, payload, err := f.frame()
		switch {
		case err != nil:
			return nil, err
		case op == opClose:
			return nil, fmt.Errorf("the server has closed the socket: %q", payload)
		case op != opPing:
			return payload, nil
		}
		// Clients mask their frames; here with zeros.
		pong := append([]byte{0x80 | opPong, 0x80 | byte(len(payload)), 0, 0, 0, 0}, payload...)
		if _, err := f.Write(pong); err != nil {
			return nil, err
		}
	}
}

// frame reads one frame. Servers neither mask nor, here, split their frames.
func (f *frames) frame() (op byte, payload []byte, err error) {
	if f.payload != nil { // nobody needs it while nothing comes
		bodies.Put(f.payload)
		f.payload = nil
	}
	var h [8]byte
	if _, err := io.ReadFull(f.in, h[:2]); err != nil {
		return 0, nil, err
	}
	op, n := h[0]&0xf, uint64(h[1]&0x7f)
	switch n {
	case 126:
		_, err = io.ReadFull(f.in, h[:2])
		n = uint64(binary.BigEndian.Uint16(h[:2]))
	case 127:
		_, err = io.ReadFull(f.in, h[:8])
		n = binary.BigEndian.Uint64(h[:8])
	}
	if err != nil {
		return 0, nil, err
	}
	f.payload = bodies.Get().(*[]byte)
	*f.payload = slices.Grow((*f.payload)[:0], int(n))[:n]
	_, err = io.ReadFull(f.in, *f.payload)
	return op, *f.payload, err
}
