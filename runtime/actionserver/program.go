package actionserver

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/runtime/protocol"
	"github.com/deft-dev/deft/tool"
)

// program starts a program and connects its input and output to the client. The
// program ends when the client closes its input or disconnects, and with the
// server.
func (s *server) program(w http.ResponseWriter, r *http.Request) {
	defer s.presence.enter()()
	raw, err := readBody(w, r)
	if err != nil {
		refuse(w, err)
		return
	}
	q, err := protocol.DecodeProgram(raw)
	if err == nil && s.programs == nil {
		err = fault.New(fault.Unsupported, "this action server starts no programs")
	}
	if err == nil {
		err = s.enterProgram()
	}
	if err != nil {
		refuse(w, err)
		return
	}
	defer s.programsLeft.Done()
	p, err := s.programs.StartProgram(r.Context(), q)
	if err != nil {
		refuse(w, err)
		return
	}
	conn, buf, err := http.NewResponseController(w).Hijack()
	if err != nil {
		refuse(w, errors.Join(fault.Wrap(err, fault.Internal, "take the connection over"), p.Close()))
		return
	}
	defer conn.Close()
	if err := s.connect(conn, buf.Reader, p); err != nil {
		s.log.Info("connection to a program", "command", q.Command, "error", err)
	}
}

// enterProgram refuses programs once the server ends, so that none begins while
// it waits for their end.
func (s *server) enterProgram() error {
	s.programsMu.Lock()
	defer s.programsMu.Unlock()
	select {
	case <-s.stopping:
		return fault.New(fault.Unavailable, "the action server ends")
	default:
	}
	s.programsLeft.Add(1)
	return nil
}

// connect passes input and output on until the program has ended.
func (s *server) connect(conn net.Conn, in *bufio.Reader, p tool.Process) error {
	if err := conn.SetDeadline(time.Time{}); err != nil { // of HTTP
		return errors.Join(err, p.Close())
	}
	over := make(chan struct{})
	input := make(chan error, 1)
	go func() {
		_, err := io.Copy(p, httputil.NewChunkedReader(in))
		input <- errors.Join(err, p.Close())
	}()
	stopped := make(chan error, 1)
	go func() {
		select {
		case <-s.stopping:
			err := p.Close()
			// The client may not read the program's output.
			stopped <- errors.Join(err, conn.SetWriteDeadline(time.Now().Add(drainTimeout)))
		case <-over:
			stopped <- nil
		}
	}()
	err := output(conn, p)
	err = errors.Join(err, p.Close())
	if err == nil {
		err = s.end(conn, p.Stderr())
	}
	close(over)
	conn.Close()
	<-input // fails now at the latest
	return errors.Join(err, <-stopped)
}

// output writes a program's output as chunks.
func output(conn net.Conn, p tool.Process) error {
	w := bufio.NewWriterSize(conn, 32<<10)
	if _, err := fmt.Fprintf(w, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", protocol.Upgrade); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	chunks := httputil.NewChunkedWriter(w)
	piece := make([]byte, 32<<10)
	for {
		n, err := p.Read(piece)
		if n > 0 {
			if _, err := chunks.Write(piece[:n]); err != nil {
				return err
			}
			if err := w.Flush(); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			if err := chunks.Close(); err != nil {
				return err
			}
			_, err = w.WriteString("\r\n") // the chunked form ends with an empty line
			return errors.Join(err, w.Flush())
		case err != nil:
			return err
		}
	}
}

// end says how the program ended.
func (s *server) end(conn net.Conn, stderr string) error {
	err := conn.SetWriteDeadline(time.Now().Add(writeTimeout))
	select {
	case <-s.stopping: // whose deadline may have been replaced
		err = errors.Join(err, conn.SetWriteDeadline(time.Now().Add(drainTimeout)))
	default:
	}
	if err != nil {
		return err
	}
	return json.NewEncoder(conn).Encode(protocol.ProgramEnd{Stderr: stderr})
}
