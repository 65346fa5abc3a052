package llmtest

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/deft-dev/deft/fault"
)

// Options configures a [Server]. The zero value is suitable for tests.
type Options struct {
	// MaxRecorded is the number of requests kept for [Server.Requests]; older
	// ones are dropped. Default 10,000; negative: keep none.
	MaxRecorded int
	// MaxRecordedBytes limits the bodies of the requests kept; older ones are
	// dropped, but the newest is always kept. Default 64 MiB. The decoded texts
	// of a request may need the same memory again.
	MaxRecordedBytes int
	// MaxBody is the size above which a request is refused with status 413.
	// Default 32 MiB.
	MaxBody int64
	// AllowErrors prevents [Start] from failing the test for the requests
	// listed by [Server.Errors].
	AllowErrors bool
	// Seed makes generated ids repeatable. Default 0: random.
	Seed uint64
	// OnRequest, if set, is called for each request before it is answered, from
	// the request's goroutine, with Turn, Fault and Refused filled.
	OnRequest func(*Request)
}

// Server answers LLM requests from a script. It is an [http.Handler], safe for
// concurrent use.
type Server struct {
	// URL is the server's address, without a slash at the end. Set by [Start]
	// and [Server.Listen].
	URL string

	opts        Options
	prog        *program
	turnChooser *turnChooser
	rec         *recorder
	ids         *idMaker
}

// New validates the script and returns a server for it. The script must not be
// changed afterwards. Errors are of kind [fault.Invalid].
func New(script *Script, opts Options) (*Server, error) {
	prog, err := compile(script)
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "script")
	}
	opts.MaxRecorded = cmp.Or(opts.MaxRecorded, 10_000)
	opts.MaxRecordedBytes = cmp.Or(opts.MaxRecordedBytes, 64<<20)
	opts.MaxBody = cmp.Or(opts.MaxBody, 32<<20)
	if opts.Seed == 0 {
		var b [8]byte
		_, _ = rand.Read(b[:]) // documented never to fail
		opts.Seed = binary.LittleEndian.Uint64(b[:])
	}
	return &Server{
		opts: opts, prog: prog, turnChooser: newTurnChooser(prog),
		rec: newRecorder(opts), ids: &idMaker{seed: opts.Seed},
	}, nil
}

// Listen opens addr ("127.0.0.1:0" for any free port) and sets URL.
func (s *Server) Listen(ctx context.Context, addr string) (net.Listener, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fault.Wrap(err, fault.Unavailable, "listen on "+addr)
	}
	s.URL = "http://" + ln.Addr().String()
	return ln, nil
}

// Serve answers on ln until ctx ends, then releases hanging requests, closes
// all connections and returns nil. It closes ln.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	base, release := context.WithCancel(context.WithoutCancel(ctx))
	defer release()
	hs := &http.Server{
		Handler:           s,
		BaseContext:       func(net.Listener) context.Context { return base },
		ReadHeaderTimeout: time.Minute,
	}
	failed := make(chan error, 1)
	go func() { failed <- hs.Serve(ln) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve scripted llm: %w", err)
	case <-ctx.Done():
	}
	release()
	// A connection without a request would delay Shutdown.
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	err := hs.Shutdown(grace)
	if err != nil {
		err = hs.Close()
	}
	<-failed
	return err
}

// Requests returns the requests kept, oldest first.
func (s *Server) Requests() []*Request { return s.rec.all() }

// Count returns the number of requests received so far, kept or not.
func (s *Server) Count() int { return s.rec.count() }

// Wait returns the n-th request (from 1) as soon as it was received and
// decoded, before it is answered. It fails when ctx ends, or with kind
// [fault.NotFound] if that request is no longer kept.
func (s *Server) Wait(ctx context.Context, n int) (*Request, error) { return s.rec.wait(ctx, n) }

// Errors returns the unexpected requests: unknown paths, malformed or invalid
// requests, and requests without a turn. At most the first 1,000 are kept.
func (s *Server) Errors() []error { return s.rec.errors() }

// Unused returns the names of the turns that never answered a request.
func (s *Server) Unused() []string { return s.turnChooser.unused() }

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rt := route(r)
	switch {
	case rt.list:
		s.listModels(w, r)
	case rt.protocol == "":
		s.rec.fail(fmt.Errorf("%s %s: no such route", r.Method, r.URL.Path))
		s.writeError(w, OpenAIChat, &apiError{kind: modelNotFound, code: "unknown_url", message: fmt.Sprintf("Unknown request URL: %s %s.", r.Method, r.URL.Path)})
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		s.writeError(w, rt.protocol, &apiError{kind: BadRequest, status: http.StatusMethodNotAllowed, message: "Not allowed to " + r.Method + "."})
	default:
		s.answer(w, r, rt)
	}
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request, rt routed) {
	req := &Request{
		Time: time.Now(), Protocol: rt.protocol, Path: r.URL.Path, Model: rt.model,
		Stream: rt.stream, Session: r.Header.Get("X-Litellm-Session-Id"), Headers: redact(r.Header),
	}
	var body bytes.Buffer
	// Preallocate for most bodies, but not for any length that a client claims.
	body.Grow(int(min(max(r.ContentLength, 0), 1<<20)) + bytes.MinRead)
	if _, err := body.ReadFrom(http.MaxBytesReader(w, r.Body, s.opts.MaxBody)); err != nil {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			s.rec.fail(fmt.Errorf("%s: request is larger than %d bytes", r.URL.Path, s.opts.MaxBody))
			s.writeError(w, rt.protocol, &apiError{kind: BadRequest, status: http.StatusRequestEntityTooLarge, message: "Request exceeds the maximum size."})
		}
		return // else the client went away
	}
	req.Body = body.String()
	refusal, noted := s.validate(req, r)
	if refusal != nil {
		s.refuse(w, req, refusal, noted)
		return
	}
	if rt.count {
		s.countTokens(w, req)
		return
	}
	turn, f, err := s.turnChooser.pick(req)
	if err != nil {
		s.refuse(w, req, &apiError{kind: ServerError, message: err.Error(), own: true}, true)
		return
	}
	req.Turn = turn.Name
	if f != nil {
		req.Fault = f.Kind
	}
	a, err := turn.render(req, s.ids, f)
	if err != nil {
		s.refuse(w, req, &apiError{kind: ServerError, message: fmt.Sprintf("turn %s of the script: %v", turn.Name, err), own: true}, true)
		return
	}
	s.arrived(req)
	s.respond(w, r, turn, a, f, rt.sse)
}

// validate decodes the request and returns the reason to refuse it, and whether
// that counts as an error of the client.
func (s *Server) validate(req *Request, r *http.Request) (refusal *apiError, noted bool) {
	problem, broken := decode(req)
	switch {
	case broken != nil:
		return broken, true
	case s.prog.APIKey != "" && credential(r) != s.prog.APIKey:
		return &apiError{kind: Auth}, false
	case len(s.prog.Models) > 0 && !slices.Contains(s.prog.Models, req.Model):
		return &apiError{kind: modelNotFound, message: fmt.Sprintf("The model `%s` does not exist or you do not have access to it.", req.Model)}, false
	case s.prog.Lenient:
		return nil, false
	case req.Protocol == Anthropic && r.Header.Get("Anthropic-Version") == "":
		return &apiError{kind: BadRequest, message: "anthropic-version: header is required"}, true
	}
	return problem, true
}

func (s *Server) arrived(req *Request) {
	s.rec.add(req)
	if s.opts.OnRequest != nil {
		s.opts.OnRequest(req)
	}
}

func (s *Server) refuse(w http.ResponseWriter, req *Request, e *apiError, noted bool) {
	req.Refused = e.message
	if req.Refused == "" {
		req.Refused = string(e.kind)
	}
	if noted {
		s.rec.fail(fmt.Errorf("%s (%s): %s", req.Path, req.Protocol, req.Refused))
	}
	s.arrived(req)
	s.writeError(w, req.Protocol, e)
}
