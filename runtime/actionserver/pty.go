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
	"strconv"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/runtime/protocol"
	"github.com/deft-dev/deft/tool"
)

// ptyRoutes adds the routes of pseudo terminals.
func (s *server) ptyRoutes(mux *http.ServeMux) {
	handle := func(pattern string, do func(w http.ResponseWriter, r *http.Request) error) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			defer s.presence.enter()()
			err := protocol.NoPTYs()
			if s.ptys != nil {
				err = do(w, r)
			}
			if err != nil {
				refuse(w, err)
			}
		})
	}
	handle("POST /v1/ptys", s.openPTY)
	handle("GET /v1/ptys", s.listPTYs)
	handle("POST /v1/ptys/{id}/attach", s.attachPTY)
	handle("POST /v1/ptys/{id}/resize", s.resizePTY)
	handle("DELETE /v1/ptys/{id}", s.closePTY)
}

// readJSON reads the body of a request.
func readJSON(w http.ResponseWriter, r *http.Request, into any) error {
	raw, err := readBody(w, r)
	if err != nil {
		return err
	}
	return fault.Wrap(json.Unmarshal(raw, into), fault.Invalid, "the request is not the JSON it should be")
}

func (s *server) openPTY(w http.ResponseWriter, r *http.Request) error {
	var spec tool.PTYSpec
	if err := readJSON(w, r, &spec); err != nil {
		return err
	}
	p, err := s.ptys.OpenPTY(r.Context(), spec)
	if err == nil {
		reply(w, p)
	}
	return err
}

func (s *server) listPTYs(w http.ResponseWriter, r *http.Request) error {
	list, err := s.ptys.ListPTYs(r.Context())
	if err == nil {
		reply(w, protocol.PTYs{PTYs: list})
	}
	return err
}

func (s *server) resizePTY(w http.ResponseWriter, r *http.Request) error {
	var size protocol.PTYSize
	if err := readJSON(w, r, &size); err != nil {
		return err
	}
	err := s.ptys.ResizePTY(r.Context(), r.PathValue("id"), size.Rows, size.Cols)
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}

func (s *server) closePTY(w http.ResponseWriter, r *http.Request) error {
	err := s.ptys.ClosePTY(r.Context(), r.PathValue("id"))
	if err == nil {
		w.WriteHeader(http.StatusNoContent)
	}
	return err
}

// attachPTY connects the client to a terminal until either disconnects.
func (s *server) attachPTY(w http.ResponseWriter, r *http.Request) error {
	offset, err := strconv.ParseInt(r.URL.Query().Get("offset"), 10, 64)
	if err != nil {
		return fault.Wrap(err, fault.Invalid, "the offset is not a number")
	}
	if err := s.enterProgram(); err != nil {
		return err
	}
	defer s.programsLeft.Done()
	p, err := s.ptys.AttachPTY(r.Context(), r.PathValue("id"), offset)
	if err != nil {
		return err
	}
	conn, buf, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return errors.Join(fault.Wrap(err, fault.Internal, "take the connection over"), p.Close())
	}
	defer conn.Close()
	if err := s.connectPTY(conn, buf.Reader, p); err != nil {
		s.log.Info("connection to a terminal", "error", err)
	}
	return nil
}

// connectPTY passes input and output on until the terminal has ended or the client
// has disconnected.
func (s *server) connectPTY(conn net.Conn, in *bufio.Reader, p tool.PTYConn) error {
	if err := conn.SetDeadline(time.Time{}); err != nil { // of HTTP
		return errors.Join(err, p.Close())
	}
	over := make(chan struct{})
	input := make(chan error, 1)
	go func() {
		_, err := io.Copy(p, httputil.NewChunkedReader(in))
		// A client that has detached may not read the rest.
		input <- errors.Join(err, p.Close(), conn.SetWriteDeadline(time.Now().Add(drainTimeout)))
	}()
	stopped := make(chan error, 1)
	go func() {
		select {
		case <-s.stopping: // the terminals end, but the client may not read
			stopped <- conn.SetWriteDeadline(time.Now().Add(drainTimeout))
		case <-over:
			stopped <- nil
		}
	}()
	err := outputPTY(conn, p)
	close(over)
	err = errors.Join(err, p.Close(), conn.Close())
	<-input // fails now at the latest; a client that disconnects is none of our errors
	return errors.Join(err, <-stopped)
}

// outputPTY writes a terminal's output as chunks, and how the connection ends.
func outputPTY(conn net.Conn, p tool.PTYConn) error {
	w := bufio.NewWriterSize(conn, 32<<10)
	_, err := fmt.Fprintf(w, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n%s: %d\r\n\r\n",
		protocol.PTYUpgrade, protocol.OffsetHeader, p.Offset())
	if err = errors.Join(err, w.Flush()); err != nil {
		return err
	}
	chunks := httputil.NewChunkedWriter(w)
	piece := make([]byte, 32<<10)
	for {
		n, err := p.Read(piece)
		if n > 0 {
			_, err := chunks.Write(piece[:n])
			if err = errors.Join(err, w.Flush()); err != nil {
				return err
			}
		}
		if err == nil {
			continue
		}
		if errors.Is(err, io.EOF) {
			err = nil
		}
		closed := chunks.Close()
		_, blank := w.WriteString("\r\n") // the chunked form ends with an empty line
		return errors.Join(closed, blank, json.NewEncoder(w).Encode(protocol.PTYEndOf(p.ExitCode(), err)), w.Flush())
	}
}
