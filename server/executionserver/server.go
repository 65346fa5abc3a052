// Package executionserver serves the HTTP contract of OpenHands' action execution
// server (openhands-ai 0.62), which its runtime clients speak: actions and files of
// one workspace. docs/action-server.md has the state of each route.
//
// # Usage
//
//	h, err := executionserver.New(executionserver.Options{WorkingDir: dir, Tools: tools, NewShell: newShell, Key: key})
//	defer h.Close()
//	err = http.Serve(listener, h)
//
// # Concurrency and failure
//
// A Server is safe for concurrent use; it runs one action at a time, as the reference
// does. A mistake of an action is an observation. Requests that cannot be served get
// the statuses and bodies of FastAPI ({"detail": …}).
package executionserver

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"sync"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/tool"
)

// Options configure a Server. WorkingDir, Tools and NewShell are required.
type Options struct {
	// WorkingDir is the workspace, absolute.
	WorkingDir string
	// Roots are further directories whose files can be read and written.
	Roots []string
	// Tools by kind of action; the server closes them. It uses the tools of
	// TerminalAction, FileEditorAction, IPythonAction and BrowserGymAction, and of Own.
	Tools map[string]tool.Executor
	// NewShell makes a terminal of its own, which starts in a directory, for one
	// command.
	NewShell func(dir string) tool.Executor
	// NoBrowser refuses to browse.
	NoBrowser bool
	// Skills gives cells the functions of the plugin agent_skills.
	Skills bool
	// Own are tools that executors bring, whose actions clients send by the name of the
	// tool; nil for none.
	Own *tool.Set
	// Key is sent by clients in X-Session-API-Key; "" admits clients of this machine
	// that are no web pages.
	Key string
	Log *slog.Logger
}

// Server implements [http.Handler]. Make one with [New].
type Server struct {
	o       Options
	files   *roots
	started time.Time
	usage   usage

	turn   chan struct{} // held by the action that runs; guards initialized
	ctx    context.Context
	cancel context.CancelFunc
	runs   sync.WaitGroup

	initialized bool // the first kernel_init_code has run

	mu   sync.Mutex
	last time.Time // when an action was last asked for
	cwd  string    // of the shell
}

// routes are the paths, of which none has parts that vary: clients wait for New, of whose
// processor time the patterns of an http.ServeMux took half.
var routes = map[string]struct {
	method string
	serve  func(*Server, http.ResponseWriter, *http.Request) error
}{
	"/alive":                   {http.MethodGet, (*Server).alive},
	"/server_info":             {http.MethodGet, (*Server).info},
	"/execute_action":          {http.MethodPost, (*Server).execute},
	"/upload_file":             {http.MethodPost, (*Server).upload},
	"/download_files":          {http.MethodGet, (*Server).download},
	"/list_files":              {http.MethodPost, (*Server).list},
	"/view-file":               {http.MethodGet, (*Server).view},
	"/update_mcp_server":       {http.MethodPost, (*Server).updateMCP},
	"/vscode/connection_token": {http.MethodGet, (*Server).vscodeToken},
}

// New returns a Server. The caller closes it.
func New(o Options) (*Server, error) {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Own == nil {
		o.Own = &tool.Set{}
	}
	if err := checkOwn(o.Own); err != nil {
		return nil, err
	}
	files, err := openRoots(append([]string{o.WorkingDir}, o.Roots...))
	if err != nil {
		return nil, err
	}
	now := time.Now()
	s := &Server{o: o, files: files, started: now, last: now, cwd: o.WorkingDir, turn: make(chan struct{}, 1)}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s, nil
}

// Close interrupts running actions and closes the tools.
func (s *Server) Close() error {
	s.cancel()
	s.runs.Wait()
	var errs []error
	for _, t := range s.o.Tools {
		errs = append(errs, t.Close())
	}
	return errors.Join(append(errs, s.files.close())...)
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.admits(r) {
		s.answer(w, http.StatusForbidden, detail("Invalid API Key"))
		return
	}
	to, ok := routes[r.URL.Path]
	switch {
	case !ok:
		s.answer(w, http.StatusNotFound, detail("Not Found"))
	case r.Method != to.method:
		w.Header().Set("Allow", to.method)
		s.answer(w, http.StatusMethodNotAllowed, detail("Method Not Allowed"))
	default:
		if err := to.serve(s, w, r); err != nil {
			s.refuse(w, r, err)
		}
	}
}

// admits reports whether a request may be served. Without a key any program of this
// machine has the server's rights, but no web page in a browser on it.
func (s *Server) admits(r *http.Request) bool {
	if s.o.Key == "" {
		return loopback(r.Host) && (r.Header.Get("Origin") == "" || sameOrigin(r)) && r.Header.Get("Sec-Fetch-Site") != "cross-site"
	}
	if r.URL.Path == "/alive" || r.URL.Path == "/server_info" {
		return true
	}
	want, got := sha256.Sum256([]byte(s.o.Key)), sha256.Sum256([]byte(r.Header.Get("X-Session-API-Key")))
	return subtle.ConstantTimeCompare(want[:], got[:]) == 1
}

func sameOrigin(r *http.Request) bool {
	u, err := url.Parse(r.Header.Get("Origin"))
	return err == nil && u.Host == r.Host
}

// loopback reports whether a host, with or without a port, is this machine.
func loopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	ip := net.ParseIP(host)
	return host == "localhost" || host == "[::1]" || ip != nil && ip.IsLoopback()
}

// failure is an answer with a status and a detail.
type failure struct {
	status int
	detail string
	errors string // of a 422
}

func (f *failure) Error() string { return f.detail }

func fail(status int, format string, args ...any) error {
	return &failure{status: status, detail: fmt.Sprintf(format, args...)}
}

// invalid is the answer to a request that has another form than it should have.
func invalid(format string, args ...any) error {
	return &failure{status: http.StatusUnprocessableEntity, detail: "Invalid request parameters", errors: fmt.Sprintf(format, args...)}
}

func detail(text string) map[string]string { return map[string]string{"detail": text} }

func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	var f *failure
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &f) && f.errors != "":
		s.answer(w, f.status, map[string]string{"detail": f.detail, "errors": f.errors})
	case errors.As(err, &f):
		s.answer(w, f.status, detail(f.detail))
	case errors.As(err, &large):
		s.answer(w, http.StatusRequestEntityTooLarge, detail(fmt.Sprintf("a request has at most %d bytes", large.Limit)))
	case errors.Is(err, os.ErrNotExist):
		s.answer(w, http.StatusNotFound, detail("File not found"))
	default:
		s.o.Log.Error("request failed", "path", r.URL.Path, "err", err)
		s.answer(w, http.StatusInternalServerError, detail(err.Error()))
	}
}

func (s *Server) answer(w http.ResponseWriter, status int, body any) {
	raw, err := json.Marshal(body)
	if err != nil {
		s.o.Log.Error("encode an answer", "err", err)
		status, raw = http.StatusInternalServerError, []byte(`{"detail":"An unexpected error occurred. Please try again later."}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if _, err := w.Write(raw); err != nil {
		s.o.Log.Debug("the client has disconnected", "err", err)
	}
}

func (s *Server) alive(w http.ResponseWriter, _ *http.Request) error {
	s.answer(w, http.StatusOK, map[string]string{"status": "ok"})
	return nil
}

func (s *Server) info(w http.ResponseWriter, _ *http.Request) error {
	resources, err := s.usage.measure()
	if err != nil {
		return fault.Wrap(err, fault.Internal, "measure what the server uses")
	}
	s.mu.Lock()
	idle := time.Since(s.last)
	s.mu.Unlock()
	s.answer(w, http.StatusOK, map[string]any{
		"uptime": time.Since(s.started).Seconds(), "idle_time": idle.Seconds(), "resources": resources,
	})
	return nil
}

func (s *Server) vscodeToken(w http.ResponseWriter, _ *http.Request) error {
	s.answer(w, http.StatusOK, map[string]any{"token": nil}) // the plugin is not there
	return nil
}

// updateMCP takes the list of MCP servers over stdio that the reference proxies at
// /mcp/sse. This server proxies none, and says so where the client looks for it.
func (s *Server) updateMCP(w http.ResponseWriter, r *http.Request) error {
	raw, err := readBody(w, r)
	if err != nil {
		return err
	}
	var servers []struct {
		Name string `json:"name"`
	}
	if err := json.Unmarshal(raw, &servers); err != nil {
		return fail(http.StatusBadRequest, "Request must be a list of MCP tools to sync")
	}
	problem := ""
	if len(servers) > 0 {
		problem = fmt.Sprintf("%d MCP servers were not added: this server proxies none", len(servers))
		s.o.Log.Warn("update_mcp_server", "err", problem)
	}
	s.answer(w, http.StatusOK, map[string]string{"detail": "MCP server updated successfully", "router_error_log": problem})
	return nil
}
