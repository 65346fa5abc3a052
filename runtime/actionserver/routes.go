package actionserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/runtime/protocol"
)

func (s *server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/actions/{id}", s.execute)
	mux.HandleFunc("POST /v1/actions/{id}/interrupt", s.interrupt)
	mux.HandleFunc("POST /v1/actions/{id}/ack", s.ackOne)
	mux.HandleFunc("POST /v1/ack", s.ack)
	mux.HandleFunc("POST /v1/prepare", s.prepare)
	mux.HandleFunc("POST /v1/programs", s.program)
	mux.HandleFunc("GET /v1/lease", s.lease)
	mux.HandleFunc("POST /v1/linger", s.linger)
	mux.HandleFunc("POST /v1/shutdown", s.shutdown)
	mux.HandleFunc("GET /health", s.health)
	mux.HandleFunc("GET /v1/tools", s.tools)
	s.ptyRoutes(mux)
	mux.HandleFunc("POST /v1/view", s.view)
	s.portRoutes(mux)
	if s.files != nil {
		mux.HandleFunc("/v1/files/", func(w http.ResponseWriter, r *http.Request) {
			defer s.presence.enter()()
			s.files.ServeHTTP(w, r)
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, fault.New(fault.NotFound, "the action server has no "+r.Method+" "+r.URL.Path))
	})
	return mux
}

func (s *server) execute(w http.ResponseWriter, r *http.Request) {
	defer s.presence.enter()()
	raw, err := readBody(w, r)
	if err != nil {
		refuse(w, err)
		return
	}
	q, acks, err := protocol.DecodeRequest(event.ID(r.PathValue("id")), raw)
	if err != nil {
		refuse(w, err)
		return
	}
	s.acknowledge(acks)
	s.stream(w, r, q)
}

// acknowledge drops results. If the journal cannot record that, it is only larger
// than necessary; if it records nothing any more, the next action fails.
func (s *server) acknowledge(ids []event.ID) {
	if err := s.x.Ack(ids...); err != nil {
		s.log.Warn("acknowledge results", "error", err)
	}
}

func (s *server) interrupt(w http.ResponseWriter, r *http.Request) {
	reply(w, map[string]bool{"running": s.x.Interrupt(event.ID(r.PathValue("id")))})
}

func (s *server) ackOne(w http.ResponseWriter, r *http.Request) {
	s.acknowledge([]event.ID{event.ID(r.PathValue("id"))})
	w.WriteHeader(http.StatusNoContent)
}

func (s *server) ack(w http.ResponseWriter, r *http.Request) {
	raw, err := readBody(w, r)
	if err != nil {
		refuse(w, err)
		return
	}
	var q protocol.Ack
	if err := json.Unmarshal(raw, &q); err != nil {
		refuse(w, fault.Wrap(err, fault.Invalid, "the request is not the JSON it should be"))
		return
	}
	s.acknowledge(q.Ack)
	w.WriteHeader(http.StatusNoContent)
}

func (s *server) prepare(w http.ResponseWriter, _ *http.Request) {
	if err := s.x.Prepare(); err != nil {
		refuse(w, err)
		return
	}
	s.presence.linger(0) // new work begins
	w.WriteHeader(http.StatusNoContent)
}

// linger sets how long the server and its processes wait for a controller until new work begins.
func (s *server) linger(w http.ResponseWriter, r *http.Request) {
	defer s.presence.enter()()
	raw, err := readBody(w, r)
	var q protocol.Linger
	if err == nil {
		if err = json.Unmarshal(raw, &q); err != nil || q.Seconds <= 0 || q.Seconds > protocol.MaxLinger.Seconds() {
			err = fault.New(fault.Invalid, "seconds must be a number above 0")
		}
	}
	if err != nil {
		refuse(w, err)
		return
	}
	s.presence.linger(time.Duration(q.Seconds * float64(time.Second)))
	w.WriteHeader(http.StatusNoContent)
}

// lease sends the header at once, which tells the client that the lease is held,
// and then nothing until either side ends it.
func (s *server) lease(w http.ResponseWriter, r *http.Request) {
	defer s.presence.enter()()
	w.WriteHeader(http.StatusOK)
	if err := http.NewResponseController(w).Flush(); err != nil {
		return // the client has disconnected, which ends the lease
	}
	select {
	case <-r.Context().Done():
	case <-s.stopping:
	}
}

func (s *server) shutdown(w http.ResponseWriter, _ *http.Request) {
	reply(w, map[string]string{"status": "stopping"})
	s.stop()
}

func (s *server) health(w http.ResponseWriter, _ *http.Request) {
	h := protocol.Health{
		Status: "ok", PID: os.Getpid(), Started: s.started, Running: s.x.Running(), Tools: s.x.Kinds(),
	}
	if err := s.x.JournalErr(); err != nil {
		h.Status, h.Journal = "degraded", err.Error()
	}
	select {
	case <-s.stopping:
		h.Status = "stopping"
	default:
	}
	reply(w, h)
}

// tools says which tools the executors bring, or why there are no executors.
func (s *server) tools(w http.ResponseWriter, _ *http.Request) {
	if s.setupErr != nil {
		refuse(w, s.setupErr)
		return
	}
	reply(w, protocol.Tools{Tools: s.offered})
}

// readBody reads a body within limits of size and time.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	c := http.NewResponseController(w)
	if err := c.SetReadDeadline(time.Now().Add(bodyTimeout)); err != nil {
		return nil, fmt.Errorf("read the request: %w", err)
	}
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, protocol.MaxRequest))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, fault.New(fault.Invalid, fmt.Sprintf("a request has at most %d MB", protocol.MaxRequest>>20))
	case err != nil:
		return nil, fault.Wrap(err, fault.Invalid, "the request was cut off")
	}
	if err := c.SetReadDeadline(time.Time{}); err != nil {
		return nil, fmt.Errorf("read the request: %w", err)
	}
	return raw, nil
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(v); err != nil {
		panic(http.ErrAbortHandler) // the client has disconnected; net/http closes the connection
	}
}

// refuse answers with an error before anything was streamed.
func refuse(w http.ResponseWriter, err error) {
	w.Header().Set("Content-Type", protocol.ContentType)
	w.WriteHeader(fault.KindOf(err).HTTPStatus())
	if err := json.NewEncoder(w).Encode(protocol.Line{Error: protocol.ErrorOf(err)}); err != nil {
		panic(http.ErrAbortHandler)
	}
}
