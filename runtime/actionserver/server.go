// Package actionserver is the Action Execution Server: it serves an
// [executor.Executor] over HTTP inside a sandbox. runtime/protocol describes the
// requests, runtime/remote is the client.
//
// # Usage
//
//	listener, journal, err := actionserver.Inherited()
//	err = actionserver.Serve(ctx, actionserver.Options{
//		Listener: listener, Journal: journal, Tools: tools, OwnProcess: true,
//	})
//
// # When it ends
//
// The server outlives its controllers. A controller is connected while it holds a
// lease or waits for an action. When none has been connected for the grace time,
// the server interrupts running actions, records the results and ends, so nothing
// that it started outlives that time. SIGTERM, SIGINT, POST /v1/shutdown and the
// end of Serve's context end it in the same way. A program that a controller talks
// to ends with its connection. A pseudo terminal goes on without one, and ends
// with the server.
//
// # Concurrency and failure
//
// A client that does not read loses chunks of progress, never the result, and
// never delays a tool. Malformed requests get the status of their fault kind.
// The log has the server's start, end and errors, never an action's content.
package actionserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/deft-dev/deft/executor"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/tool"
	"github.com/deft-dev/deft/workspace"
	"github.com/deft-dev/deft/workspace/link"
)

// DefaultGrace is the default of [Options.Grace].
const DefaultGrace = 10 * time.Minute

const (
	headTimeout  = 10 * time.Second // for a request's head
	bodyTimeout  = time.Minute      // for its body
	writeTimeout = 30 * time.Second // for each piece of an answer
	idleTimeout  = 5 * time.Minute  // between requests
	closeTimeout = 10 * time.Second // for interrupted actions to end
	drainTimeout = 2 * time.Second  // for answers to be taken
)

// Options configure a server.
type Options struct {
	// Listener is where it answers. Required; Serve closes it.
	Listener net.Listener
	// Journal is the result journal, open for reading and writing. Required;
	// Serve closes it.
	Journal *os.File
	// Tools by kind of action; Serve closes them.
	Tools map[string]tool.Executor
	// Warm lets each [tool.Warmer] of Tools get ready at once, while the first client
	// still connects.
	Warm bool
	// Settled is called once, when the first action has ended; nil for nothing.
	Settled func()
	// SetupErr is why tools could not be set up, for a client that asks which tools
	// there are; nil if nothing is wrong.
	SetupErr error
	// Programs starts the programs that a controller talks to, such as MCP servers;
	// nil if it can have none.
	Programs tool.Starter
	// PTYs are the pseudo terminals that clients open; nil if there can be none.
	// Serve closes them if they are an io.Closer.
	PTYs tool.PTYs
	// Ports lets controllers connect to listening programs in the sandbox; nil for
	// not. The server's process must have a network of the sandbox's own.
	Ports *Ports
	// Workspace is the directory whose files a controller may read and write; empty
	// for none.
	Workspace string
	// Masked are values that must not be in the journal, beside the secrets that
	// requests bring.
	Masked []string
	// Grace is how long it runs without a controller. Default DefaultGrace.
	Grace time.Duration
	// Logger gets the server's start, end and errors. Default: none.
	Logger *slog.Logger
	// OwnProcess says that the process exists for this server alone. The server
	// then hides its memory and environment from processes of the same user,
	// adopts and reaps orphans of processes that tools started (as PID 1 of a
	// namespace or as a subreaper), and kills those that are left at the end.
	OwnProcess bool
	// IgnoreSignals lets no signal of another process end the server: its commands can
	// send them, where the kernel is too old for Landlock to refuse that (see
	// sandbox/process, Command). It then ends as documented for [Serve] except for
	// signals.
	IgnoreSignals bool
}

type server struct {
	x        *executor.Executor
	log      *slog.Logger
	started  time.Time
	presence *presence
	warmers  []tool.Warmer
	viewer   tool.Viewer // nil if nothing can be looked at
	settled  func()
	acted    func()        // an action has ended
	hasActed chan struct{} // closed by the first one
	programs tool.Starter
	ptys     tool.PTYs
	ports    *Ports
	files    http.Handler // nil for none
	offered  []tool.External
	setupErr error

	programsMu   sync.Mutex // held while one is counted, and while stopping is closed
	programsLeft sync.WaitGroup

	stopOnce sync.Once
	stopping chan struct{} // closed when the server begins to end
}

// Serve answers requests until the server ends, see the package comment, and
// returns nil if it ended in order. Errors: fault.Invalid for Options,
// fault.Conflict if another server uses the journal, fault.Timeout if tools
// did not stop.
func Serve(ctx context.Context, o Options) error {
	if o.Listener == nil || o.Journal == nil {
		return fault.New(fault.Invalid, "an action server needs a listener and a journal")
	}
	if o.Grace <= 0 {
		o.Grace = DefaultGrace
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.IgnoreSignals {
		defer ignoreSignals()()
	} else {
		var unnotify func()
		ctx, unnotify = signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGINT)
		defer unnotify()
	}
	journal, err := executor.OpenJournal(o.Journal)
	if err != nil {
		return errors.Join(fmt.Errorf("start the action server: %w", err), o.Listener.Close(), closeTools(o.Tools))
	}
	s := &server{
		x: executor.New(o.Tools, journal), log: o.Logger, started: time.Now(),
		presence: newPresence(o.Grace), programs: o.Programs, ptys: o.PTYs, ports: o.Ports, offered: tool.OfferedBy(o.Tools), setupErr: o.SetupErr, stopping: make(chan struct{}),
	}
	s.viewer = tool.ViewerOf(o.Tools)
	s.settled, s.hasActed = o.Settled, make(chan struct{})
	s.acted = sync.OnceFunc(func() { close(s.hasActed) })
	s.x.Mask(o.Masked...)
	for _, t := range o.Tools {
		if w, ok := t.(tool.Warmer); ok && o.Warm {
			s.warmers = append(s.warmers, w)
		}
	}
	if o.Workspace != "" {
		s.files = link.Handler(func() (workspace.Files, error) { return workspace.Open(o.Workspace) })
	}
	if !o.OwnProcess {
		return s.run(ctx, o.Listener)
	}
	adopt, err := ownProcess(o.Logger)
	if err != nil {
		return errors.Join(err, o.Listener.Close(), s.x.Close(ctx))
	}
	return errors.Join(s.run(ctx, o.Listener), adopt.end())
}

// run serves HTTP and ends everything in order.
func (s *server) run(ctx context.Context, l net.Listener) error {
	var background sync.WaitGroup
	defer background.Wait() // the end of a tool is the end of its warm-up
	if s.settled != nil {
		background.Go(func() {
			select {
			case <-s.hasActed:
				s.settled()
			case <-s.stopping:
			}
		})
	}
	for _, w := range s.warmers {
		background.Go(func() {
			if err := w.Warm(ctx); err != nil { // its first action fails as well, and reports it
				s.log.Debug("get a tool ready", "error", err)
			}
		})
	}
	web := &http.Server{
		Handler:           s.routes(),
		ReadHeaderTimeout: headTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    16 << 10,
		ErrorLog:          log.New(&limitedLog{to: s.log, left: 100}, "", 0),
	}
	served := make(chan error, 1)
	go func() { served <- web.Serve(l) }()
	s.log.Info("action server started", "pid", os.Getpid(), "grace", s.presence.grace)

	var err error
	var reason string
	select {
	case <-ctx.Done():
		reason = "its process is stopped"
	case <-s.stopping:
		reason = "a client asked for it"
	case <-s.presence.expired:
		reason = "no controller within the grace time"
	case err = <-served:
		served <- nil
		reason = "cannot accept connections"
	}
	s.log.Info("action server ends", "reason", reason)
	s.stop()
	s.presence.end()
	return errors.Join(err, s.shut(web), notClosed(<-served))
}

// shut ends the actions first, so that pending requests are answered.
func (s *server) shut(web *http.Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	err := s.x.Close(ctx)
	if c, ok := s.ptys.(io.Closer); ok {
		err = errors.Join(err, c.Close())
	}
	ctx, cancel = context.WithTimeout(context.Background(), drainTimeout)
	defer cancel()
	if web.Shutdown(ctx) != nil { // clients that do not read have had their time
		err = errors.Join(err, web.Close())
	}
	s.programsLeft.Wait() // each ends within seconds once stopping is closed
	if err != nil {
		return fmt.Errorf("end the action server: %w", err)
	}
	return nil
}

func (s *server) stop() {
	s.stopOnce.Do(func() {
		s.programsMu.Lock()
		defer s.programsMu.Unlock()
		close(s.stopping)
	})
}

func notClosed(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

func closeTools(tools map[string]tool.Executor) error {
	var errs []error
	for _, t := range tools {
		errs = append(errs, t.Close())
	}
	return errors.Join(errs...)
}

// limitedLog logs net/http's errors, which clients can provoke, up to a number.
type limitedLog struct {
	to   *slog.Logger
	mu   sync.Mutex
	left int
}

func (l *limitedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.left > 0 {
		l.left--
		l.to.Warn("http server", "error", string(p[:min(len(p), 1000)]))
	}
	return len(p), nil
}
