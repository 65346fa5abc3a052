package actionserver

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/runtime/protocol"
)

// view connects the client to the live view of a tool until either disconnects.
func (s *server) view(w http.ResponseWriter, r *http.Request) {
	defer s.presence.enter()()
	if s.viewer == nil {
		refuse(w, protocol.NoView())
		return
	}
	if err := s.enterProgram(); err != nil {
		refuse(w, err)
		return
	}
	defer s.programsLeft.Done()
	shown, err := s.viewer.View(r.Context())
	if err != nil {
		refuse(w, err)
		return
	}
	conn, buf, err := http.NewResponseController(w).Hijack()
	if err != nil {
		refuse(w, errors.Join(fault.Wrap(err, fault.Internal, "take the connection over"), shown.Close()))
		return
	}
	if err := s.connectView(conn, buf.Reader, shown); err != nil {
		s.log.Info("connection to a live view", "error", err)
	}
}

// connectView passes on both directions until one ends, or the server does.
func (s *server) connectView(conn net.Conn, in *bufio.Reader, shown io.ReadWriteCloser) error {
	ended := make(chan struct{}, 2)
	_, err := fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", protocol.ViewUpgrade)
	err = errors.Join(err, conn.SetDeadline(time.Time{})) // of HTTP
	results := make(chan error, 2)
	pass := func(to io.Writer, from io.Reader) {
		_, err := io.Copy(to, from)
		ended <- struct{}{}
		results <- err
	}
	go pass(shown, in)
	go pass(conn, shown)
	select {
	case <-ended:
	case <-s.stopping:
	}
	err = errors.Join(err, shown.Close(), conn.Close())
	<-results // what a closed connection says is no failure
	<-results
	return err
}
