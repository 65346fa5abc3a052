package bash

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// chunk is how many bytes of one stream go into one event
// (docs/openhands/sdk-wire.md section 10).
const chunk = 1 << 20

// showAfter is how long output waits for more before followers see it.
const showAfter = 250 * time.Millisecond

// run runs a command to its end and stores its output.
func (s *Service) run(ctx context.Context, c Command) {
	limit := time.Duration(min(int64(c.Timeout), math.MaxInt64/int64(time.Second))) * time.Second
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errTimeout)
	defer cancel()
	t := &recorder{s: s, command: c.ID, out: newStream(), err: newStream()}
	job := Job{Command: c.Command, Env: Environment(s.o.Environ()), Stdout: part{t, t.out}, Stderr: part{t, t.err}}
	if c.Cwd != nil {
		job.Dir = *c.Cwd
	}
	code, err := s.o.Runner.Run(ctx, job)
	switch {
	case errors.Is(err, errTimeout):
		code = -1
		s.o.Log.Warn("command timed out", "command_id", c.ID.String(), "timeout_s", c.Timeout)
	case err != nil && !errors.Is(err, errStopped) && !errors.Is(err, errClosed):
		code = -1
		fmt.Fprintf(part{t, t.err}, "Error executing command: %v", err)
	}
	t.end(code)
}

// recorder stores the output of one command as events. Writing to it waits for
// the disk, so a command cannot print faster than that.
type recorder struct {
	s       *Service
	command ID

	mu       sync.Mutex
	out, err *stream
	order    int
	timer    *time.Timer
	waiting  bool // the timer will store the output so far
	ended    bool
	lost     error // why some output could not be stored
}

// stream is the output of one kind that is in no event yet.
type stream struct {
	text    []byte
	decoder *transform.Writer
}

// newStream returns a stream that takes bytes through its decoder and keeps UTF-8
// text. Bytes that are not UTF-8 become U+FFFD as in the WHATWG Encoding Standard
// and at the reference; a character cut in two by a read is put together.
func newStream() *stream {
	st := &stream{}
	st.decoder = transform.NewWriter((*appender)(st), unicode.UTF8.NewDecoder())
	return st
}

// appender keeps the decoder's output.
type appender stream

// Write implements [io.Writer].
func (a *appender) Write(p []byte) (int, error) {
	a.text = append(a.text, p...)
	return len(p), nil
}

// take removes up to a chunk of text and returns it, or nil.
func (st *stream) take() *string {
	n := min(len(st.text), chunk)
	for n < len(st.text) && n > 0 && !utf8.RuneStart(st.text[n]) {
		n--
	}
	if n == 0 {
		return nil
	}
	text := string(st.text[:n])
	st.text = st.text[:copy(st.text, st.text[n:])]
	return &text
}

// part is the writer for one stream.
type part struct {
	t  *recorder
	st *stream
}

// Write implements [io.Writer]; it never fails.
func (w part) Write(p []byte) (int, error) {
	t := w.t
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return len(p), nil
	}
	_, _ = w.st.decoder.Write(p) // an appender never fails
	for len(w.st.text) > chunk {
		o := Output{}
		if w.st == t.out {
			o.Stdout = w.st.take()
		} else {
			o.Stderr = w.st.take()
		}
		t.store(o)
	}
	if !t.waiting && t.s.followed() {
		t.waiting = true
		if t.timer == nil {
			t.timer = time.AfterFunc(showAfter, t.show)
		} else {
			t.timer.Reset(showAfter)
		}
	}
	return len(p), nil
}

// show stores the output so far, for followers.
func (t *recorder) show() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiting = false
	if t.ended || !t.s.followed() {
		return
	}
	if o := (Output{Stdout: t.out.take(), Stderr: t.err.take()}); o.Stdout != nil || o.Stderr != nil {
		t.store(o)
	}
}

// store stores one output that is not the last.
func (t *recorder) store(o Output) {
	if err := t.put(o, &entry{}); err != nil && t.lost == nil {
		t.lost = err
		t.s.o.Log.Error("output of a command was lost", "command_id", t.command.String(), "error", err)
	}
}

func (t *recorder) put(o Output, e *entry) error {
	o.ID, o.CommandID, o.Order, o.Kind = newID(), t.command, t.order, KindOutput
	e.id, e.command, e.output = o.ID, o.CommandID, true
	e.order.Store(int32(o.Order))
	err := t.s.append(e, func(at stamp) any { o.Timestamp = at; return &o })
	if err == nil {
		t.order++
	}
	return err
}

// end stores the last event.
func (t *recorder) end(code int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	if t.timer != nil {
		t.timer.Stop()
	}
	_, _ = t.out.decoder.Close(), t.err.decoder.Close() // an appender never fails
	if t.lost != nil {
		t.err.text = fmt.Appendf(t.err.text, "\nsome output could not be stored: %v\n", t.lost)
	}
	for len(t.out.text) > chunk {
		t.store(Output{Stdout: t.out.take()})
	}
	for len(t.err.text) > chunk {
		t.store(Output{Stderr: t.err.take()})
	}
	o := Output{ExitCode: &code, Stdout: t.out.take(), Stderr: t.err.take()}
	err := t.put(o, &entry{})
	if err == nil {
		return
	}
	// Clients wait for an exit code, so it is kept in memory.
	t.s.o.Log.Error("end of a command is kept in memory", "command_id", t.command.String(), "error", err)
	o = Output{ExitCode: &code, Stderr: new("the output could not be stored: " + err.Error())}
	if err := t.put(o, &entry{kept: []byte{}}); err != nil {
		t.s.o.Log.Error("end of a command is lost", "command_id", t.command.String(), "error", err)
	}
}
