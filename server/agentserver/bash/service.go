// Package bash runs shell commands for clients of the Agent Server, outside any
// conversation's event stream, and keeps their output.
//
// # Usage
//
//	s, err := bash.Open(bash.Options{Dir: cfg.BashEventsDir})
//	defer s.Close()
//	cmd, err := s.Start(bash.Request{Command: "make test", Timeout: 300})
//	…
//	f, err := s.Subscribe(bash.FromNow)
//	for { e, err := f.Next(ctx) … } // each event as JSON, in order
//
// A command is a BashCommand event followed by BashOutput events in rising order,
// the last of which has an exit code (docs/openhands/sdk-wire.md section
// 10). [Scopes] gives each conversation a history of its own.
//
// # Concurrency
//
// Everything is safe for concurrent use. A follower is a cursor into the index, so
// a slow one delays no other and takes no memory. Each MiB of output is written to
// a file; in memory are the index (some hundred bytes for each event) and the rest
// of the running commands' output.
//
// # Failure
//
// A command that cannot be started ends with exit code -1 and the reason in stderr.
// If output cannot be stored (a full disk), the command still ends visibly: its
// last event says so and is kept in memory. Close kills running commands and waits
// for them.
package bash

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/deft-dev/deft/fault"
)

// Options configure a service.
type Options struct {
	// Dir holds the events; it is created when the first one is stored.
	Dir string
	// DefaultCwd is where commands run that name no directory; empty is the
	// working directory of the server.
	DefaultCwd string
	// Contains reports whether a command may run in a directory; nil for any.
	Contains func(dir string) bool
	// Runner runs the commands; nil for this machine.
	Runner Runner
	// Environ returns the environment of commands before it is cleaned; nil
	// for the server's own.
	Environ func() []string
	// Retention is the age at which events are deleted; 0 keeps them.
	Retention time.Duration
	// MaxFollowers bounds the followers at one time; 0 takes 50, as the
	// reference.
	MaxFollowers int
	Log          *slog.Logger
}

// Service runs commands and keeps their events. See the package's comment.
type Service struct {
	o      Options
	ctx    context.Context // ends with Close
	cancel context.CancelCauseFunc
	wg     sync.WaitGroup

	// appendMu is locked before mu; it keeps files, times and index in the same
	// order.
	appendMu sync.Mutex

	mu        sync.Mutex
	x         *index // nil until first needed
	running   map[ID]*running
	followers int
	changed   chan struct{} // closed and replaced when an event is added
	closed    bool
}

type running struct {
	cancel context.CancelCauseFunc
	done   chan struct{}
}

// Why a command's context ended.
var (
	errTimeout = errors.New("the command's time is over")
	errStopped = errors.New("the command was stopped")
	errClosed  = errors.New("the service was closed")
)

// Open returns a service. The directory is read when it is first needed.
func Open(o Options) (*Service, error) {
	if o.Dir == "" {
		return nil, fault.New(fault.Invalid, "no directory for bash events")
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("open bash events: %w", err)
	}
	o.Dir = dir
	if o.Runner == nil {
		o.Runner = Local{}
	}
	if o.Environ == nil {
		o.Environ = os.Environ
	}
	o.MaxFollowers = cmp.Or(o.MaxFollowers, 50)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Service{o: o, running: map[ID]*running{}, changed: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	if o.Retention > 0 {
		s.wg.Go(s.retain)
	}
	return s, nil
}

// Close ends all commands and followers and waits for them. It is idempotent.
func (s *Service) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel(errClosed)
	s.wg.Wait()
	return nil
}

// opened returns the index, which it loads the first time.
func (s *Service) opened() (*index, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.x == nil {
		entries, err := load(s.o.Dir)
		if err != nil {
			return nil, err
		}
		s.x = newIndex(entries)
	}
	return s.x, nil
}

// Start runs a command in the background and returns its event, which is
// stored. Unavailable after Close.
func (s *Service) Start(req Request) (Command, error) {
	c, _, err := s.start(req)
	return c, err
}

// Execute runs a command and waits until it has ended, then returns its id;
// WriteOutput has its output. The command goes on if ctx ends first.
func (s *Service) Execute(ctx context.Context, req Request) (ID, error) {
	c, r, err := s.start(req)
	if err != nil {
		return ID{}, err
	}
	select {
	case <-r.done:
		return c.ID, nil
	case <-ctx.Done():
		return c.ID, fault.Wrap(context.Cause(ctx), fault.Canceled, "wait for a command")
	}
}

func (s *Service) start(req Request) (Command, *running, error) {
	c := Command{Command: req.Command, Timeout: req.Timeout, ID: newID(), Kind: KindCommand}
	if cwd := req.Cwd; cwd != "" {
		c.Cwd = &cwd
	} else if cwd = s.o.DefaultCwd; cwd != "" {
		c.Cwd = &cwd
	}
	r := &running{done: make(chan struct{})}
	var ctx context.Context
	ctx, r.cancel = context.WithCancelCause(s.ctx)
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return c, nil, fault.New(fault.Unavailable, "the bash service is closed")
	}
	// Before the event is visible, so that Stop finds the command.
	s.running[c.ID] = r
	s.wg.Add(1)
	s.mu.Unlock()
	err := s.append(&entry{id: c.ID}, func(at stamp) any { c.Timestamp = at; return &c })
	if err != nil {
		s.ended(c.ID, r)
		return c, nil, err
	}
	go func() {
		defer s.ended(c.ID, r)
		s.run(ctx, c)
	}()
	return c, r, nil
}

func (s *Service) ended(id ID, r *running) {
	s.mu.Lock()
	delete(s.running, id)
	s.mu.Unlock()
	r.cancel(nil)
	close(r.done)
	s.wg.Done()
}

// Stop ends a running command with SIGTERM, and SIGKILL a second later, and
// waits for it. A command that has ended is no error; NotFound if there was
// none.
func (s *Service) Stop(ctx context.Context, id ID) error {
	s.mu.Lock()
	r := s.running[id]
	s.mu.Unlock()
	if r == nil {
		_, err := s.Get(id)
		return err
	}
	r.cancel(errStopped)
	select {
	case <-r.done:
		return nil
	case <-ctx.Done():
		return fault.Wrap(context.Cause(ctx), fault.Canceled, "wait for a command to stop")
	}
}

// Busy reports whether a command runs or there is a follower.
func (s *Service) Busy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.running) > 0 || s.followers > 0
}

// append stores an event under a unique time and wakes the followers.
func (s *Service) append(e *entry, event func(stamp) any) error {
	s.appendMu.Lock()
	defer s.appendMu.Unlock()
	x, err := s.opened()
	if err != nil {
		return err
	}
	s.mu.Lock()
	e.at = max(stamp(time.Now().UnixMicro()), x.last()+1)
	s.mu.Unlock()
	data, err := encode(event(e.at))
	if err != nil {
		return fmt.Errorf("encode a bash event: %w", err)
	}
	if err := write(s.o.Dir, e.name(), data); err != nil {
		if e.kept == nil {
			return err
		}
		e.kept = data
	} else {
		e.kept = nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	x.add(e)
	close(s.changed)
	s.changed = make(chan struct{})
	return nil
}

// Clear deletes all events and returns how many there were. Commands that run
// go on.
func (s *Service) Clear() (int, error) {
	return s.delete(func(x *index) int { return len(x.all) })
}

func (s *Service) delete(count func(*index) int) (int, error) {
	s.appendMu.Lock() // no event may be stored between counting and deleting
	defer s.appendMu.Unlock()
	x, err := s.opened()
	if err != nil {
		return 0, err
	}
	s.mu.Lock()
	gone := x.cut(count(x))
	s.mu.Unlock()
	if err := s.remove(gone); err != nil {
		return len(gone), fmt.Errorf("delete bash events: %w", err)
	}
	return len(gone), nil
}

// retain deletes events that are too old, now and after each half of that age.
func (s *Service) retain() {
	tick := time.NewTicker(max(time.Minute, s.o.Retention/2))
	defer tick.Stop()
	for {
		oldest := stamp(time.Now().Add(-s.o.Retention).UnixMicro())
		if _, err := s.delete(func(x *index) int { return x.before(oldest) }); err != nil {
			s.o.Log.Warn("old bash events could not be deleted", "error", err)
		}
		select {
		case <-tick.C:
		case <-s.ctx.Done():
			return
		}
	}
}

// encode is JSON without the escapes for HTML.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
