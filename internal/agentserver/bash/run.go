package bash

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"
	"unicode/utf8"
)

// chunk is how much of one stream goes into one event (sdk-wire.md section
// 10).
const chunk = 1 << 20

// early is how long output waits for more before followers are shown it.
const early = 250 * time.Millisecond

// run runs a command to its end and stores what it prints.
func (s *Service) run(ctx context.Context, c Command) {
	limit := time.Duration(min(int64(c.Timeout), math.MaxInt64/int64(time.Second))) * time.Second
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errTimeout)
	defer cancel()
	t := &taker{s: s, command: c.ID}
	job := Job{Command: c.Command, Env: Environment(s.o.Environ()), Stdout: part{t, &t.out}, Stderr: part{t, &t.err}}
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
		fmt.Fprintf(part{t, &t.err}, "Error executing command: %v", err)
	}
	t.end(code)
}

// taker takes the output of one command and makes events of it. Writing to it
// waits for the disk, so a command cannot print faster than that.
type taker struct {
	s       *Service
	command ID

	mu       sync.Mutex
	out, err stream
	order    int
	timer    *time.Timer
	waiting  bool // the timer will show what there is
	ended    bool
	lost     error // why some output could not be stored
}

// stream is the output of one kind that is in no event yet.
type stream struct {
	decoder
	text []byte
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
	t  *taker
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
	w.st.text = w.st.append(w.st.text, p)
	for len(w.st.text) > chunk {
		o := Output{}
		if w.st == &t.out {
			o.Stdout = w.st.take()
		} else {
			o.Stderr = w.st.take()
		}
		t.store(o)
	}
	if !t.waiting && t.s.followed() {
		t.waiting = true
		if t.timer == nil {
			t.timer = time.AfterFunc(early, t.show)
		} else {
			t.timer.Reset(early)
		}
	}
	return len(p), nil
}

// show makes an event of what there is, for those who follow.
func (t *taker) show() {
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
func (t *taker) store(o Output) {
	if err := t.put(o, &entry{}); err != nil && t.lost == nil {
		t.lost = err
		t.s.o.Log.Error("output of a command was lost", "command_id", t.command.String(), "error", err)
	}
}

func (t *taker) put(o Output, e *entry) error {
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
func (t *taker) end(code int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	if t.timer != nil {
		t.timer.Stop()
	}
	t.out.text, t.err.text = t.out.finish(t.out.text), t.err.finish(t.err.text)
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
	// Clients wait for an exit code; they get it from memory.
	t.s.o.Log.Error("end of a command is kept in memory", "command_id", t.command.String(), "error", err)
	o = Output{ExitCode: &code, Stderr: new("the output could not be stored: " + err.Error())}
	if err := t.put(o, &entry{kept: []byte{}}); err != nil {
		t.s.o.Log.Error("end of a command is lost", "command_id", t.command.String(), "error", err)
	}
}
