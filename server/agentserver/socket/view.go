package socket

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/coder/websocket"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/server/rest"
	"github.com/deft-dev/deft/session"
	"github.com/deft-dev/deft/tool"
)

// view is Deft's own: the live view of a browser in the conversation's sandbox.
func (s *Service) view(w http.ResponseWriter, r *http.Request) error {
	return s.open(w, r, rest.QueryOf(r), plan{style: view})
}

// serveView connects a person to the live view: each text frame is a line of it.
func (s *Service) serveView(ctx context.Context, cancel func(), l *link, p plan) {
	c, err := s.o.Find(ctx, p.id)
	if err != nil {
		l.end(endOf(err))
		return
	}
	defer c.Watch(func(session.Transient) {})() // it stays loaded
	conn, err := c.View(ctx)
	if err != nil {
		endTerminal(l, err)
		return
	}
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	l.ws.SetReadLimit(maxInput)
	done := make(chan struct{})
	go func() {
		defer close(done)
		sendView(ctx, l, conn)
	}()
	for {
		typ, line, err := l.ws.Read(context.Background()) // ends with the connection
		if err != nil {
			break
		}
		if typ != websocket.MessageText || isAuth(line) {
			continue
		}
		if _, err := conn.Write(append(line, '\n')); err != nil {
			break
		}
	}
	cancel()
	_ = conn.Close() // the sender ends
	l.unblock()
	<-done
}

// sendView sends the lines of a view until it ends. The view waits for a client that reads slowly.
func sendView(ctx context.Context, l *link, conn io.Reader) {
	lines := bufio.NewScanner(conn)
	lines.Buffer(make([]byte, 0, 64<<10), tool.MaxViewLine)
	for lines.Scan() {
		if l.sendText(lines.Bytes()) != nil {
			_ = l.Conn.Close() // the reader ends
			return
		}
	}
	switch err := lines.Err(); {
	case ctx.Err() != nil:
		l.shut(websocket.StatusGoingAway, "")
	case errors.Is(err, bufio.ErrTooLong):
		endTerminal(l, fault.New(fault.Corrupt, "the live view sends a line that is too long"))
	default:
		l.shut(websocket.StatusNormalClosure, "")
	}
}
