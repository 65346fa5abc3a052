package llmtest

import (
	"cmp"
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"

	"github.com/deft-dev/deft/internal/wait"
)

// respond sends the answer, with the fault f unless it is nil.
func (s *Server) respond(w http.ResponseWriter, r *http.Request, t *turn, a *answer, f *Fault, sse bool) {
	if wait.For(r.Context(), t.Latency) != nil { // the client has gone
		return
	}
	if f != nil && s.refused(w, r, a.req, f) {
		return
	}
	s.identify(a)
	if a.req.Stream {
		stream := wires[a.req.Protocol].stream(a)
		stream, end := applyFault(stream, f, a)
		s.sendStream(w, r, t.Pacing, a.req.Protocol, stream, end, sse)
		return
	}
	s.sendBody(w, r, wires[a.req.Protocol].body(a), a, f)
}

// identify sets the id of the answer.
func (s *Server) identify(a *answer) {
	switch a.req.Protocol {
	case OpenAIChat:
		a.id = s.ids.make("chatcmpl-")
	case OpenAIResponses:
		a.id = s.ids.make("resp_")
	case Anthropic:
		a.id = s.ids.make("msg_01")
	default:
		a.id = s.ids.make("")
	}
}

// refused sends faults that replace the whole answer, and reports whether it
// did.
func (s *Server) refused(w http.ResponseWriter, r *http.Request, req *Request, f *Fault) bool {
	switch {
	case f.Kind.isError() && (f.After == 0 || !req.Stream):
		s.writeError(w, req.Protocol, faultError(f, req))
	case f.Kind == HTML:
		status := f.Status
		status = cmp.Or(status, http.StatusBadGateway)
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(status)
		message := "Bad Gateway"
		message = cmp.Or(f.Message, message)
		write(w, "<!DOCTYPE html>\n<html><head><title>"+message+"</title></head><body><center><h1>"+message+"</h1></center><hr><center>nginx</center></body></html>\n")
	case f.Kind == Hang && f.After == 0:
		<-r.Context().Done()
	case f.Kind == Reset && f.After == 0:
		reset(w)
	default:
		return false
	}
	return true
}

// write sends text. An error means that the client has disconnected; net/http
// then closes the connection.
func write(w http.ResponseWriter, text string) { _, _ = w.Write([]byte(text)) }

func flush(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() }

// reset closes the connection with a TCP RST, so that the client sees
// "connection reset" instead of a regular end.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		// There is no connection to take over (HTTP/2): net/http resets the
		// stream.
		panic(http.ErrAbortHandler)
	}
	var tcp *net.TCPConn
	if c, ok := conn.(*net.TCPConn); ok {
		tcp = c
	}
	if tcp != nil {
		err = tcp.SetLinger(0)
	}
	if err := errors.Join(err, conn.Close()); err != nil {
		panic(http.ErrAbortHandler)
	}
}

// sendBody sends an answer in one piece.
func (s *Server) sendBody(w http.ResponseWriter, r *http.Request, body string, a *answer, f *Fault) {
	keep, declared, end := len(body), len(body), endClean
	if f != nil {
		switch f.Kind {
		case MalformedJSON:
			keep = len(body) * 2 / 3
			declared = keep
		case NoFinalChunk:
			keep = len(body) - 1
		case HalfToolCall:
			keep = middleOfCall(body, a.calls[len(a.calls)-1])
		case Reset:
			keep, end = len(body)/2, endReset
		case Hang:
			keep, end = len(body)/2, endHang
		}
	}
	s.headers(w, a.req.Protocol, "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(declared))
	write(w, body[:keep])
	finish(w, r, end)
}

// middleOfCall returns a position in the middle of the call's arguments, which
// follow the name in all protocols.
func middleOfCall(body string, c madeCall) int {
	name := `"name":` + q(c.name)
	return min(len(body)-1, strings.LastIndex(body, name)+len(name)+len(`,"arguments":"`)+len(c.args)/2)
}

// headers sets the headers of each answer of a provider.
func (s *Server) headers(w http.ResponseWriter, p Protocol, contentType string) string {
	id := s.ids.make("req_")
	switch p {
	case OpenAIChat, OpenAIResponses:
		w.Header().Set("X-Request-Id", id)
	case Anthropic:
		w.Header().Set("Request-Id", id)
	}
	w.Header().Set("Content-Type", contentType)
	return id
}

func (s *Server) writeJSON(w http.ResponseWriter, p Protocol, status int, body string) {
	s.headers(w, p, "application/json")
	w.WriteHeader(status)
	write(w, body)
}

func (s *Server) writeError(w http.ResponseWriter, p Protocol, e *apiError) {
	id := s.headers(w, p, "application/json")
	e.headers(w.Header())
	status, body := wires[p].failure(e, id)
	w.WriteHeader(status)
	write(w, body)
}
