package external

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/tool"
)

// maxUnknown bounds how many messages that nobody waits for are logged.
const maxUnknown = 20

// process is one running program and the messages between us.
type process struct {
	child tool.Process
	log   *slog.Logger

	lines   chan struct{} // a line waits to be written
	ended   chan struct{} // closed with the first error; err is then set
	workers sync.WaitGroup

	mu        sync.Mutex
	err       error // why it ended
	next      int64
	waiting   map[int64]chan message
	listeners map[event.ID]func(tool.Chunk)
	unwritten [][]byte
	unknown   int
	secrets   []string

	endOnce sync.Once
	endErr  error
}

// follow begins to read and write the messages of a program. The caller calls end.
func follow(child tool.Process, log *slog.Logger) *process {
	r := &process{
		child: child, log: log, lines: make(chan struct{}, 1), ended: make(chan struct{}),
		waiting: map[int64]chan message{}, listeners: map[event.ID]func(tool.Chunk){},
	}
	r.workers.Go(r.read)
	r.workers.Go(r.write)
	return r
}

// over reports whether the program has ended or can no longer be talked to.
func (r *process) over() bool {
	select {
	case <-r.ended:
		return true
	default:
		return false
	}
}

// fail notes why the program cannot be talked to any more; the first reason counts.
func (r *process) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = err
		close(r.ended)
	}
}

// end ends the program and logs the end of its standard error.
func (r *process) end() error {
	r.endOnce.Do(func() {
		r.fail(errors.New("it was ended"))
		r.endErr = r.child.Close()
		r.workers.Wait()
		if said := r.stderr(); said != "" {
			r.log.Info("executor program wrote to standard error", "text", said)
		}
	})
	return r.endErr
}

// stderr is the end of the program's standard error, without the secrets that it
// was given.
func (r *process) stderr() string {
	said := strings.TrimSpace(strings.ToValidUTF8(r.child.Stderr(), "\uFFFD"))
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, value := range r.secrets {
		said = strings.ReplaceAll(said, value, "<secret-hidden>")
	}
	return said
}

// hide keeps values out of errors and of the log.
func (r *process) hide(values []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, value := range values {
		if value != "" {
			r.secrets = append(r.secrets, value)
		}
	}
}

// explain ends the program and adds its standard error to an error.
func (r *process) explain(err error) error {
	_ = r.end() // its output matters
	if said := r.stderr(); said != "" {
		return fmt.Errorf("%w; it wrote to standard error: %s", err, said)
	}
	return err
}

// request is one that was sent and not yet answered.
type request struct {
	of     *process
	id     int64
	answer chan message
}

// begin sends a request. The caller waits for its answer.
func (r *process) begin(method string, params any) (*request, error) {
	q := &request{of: r, answer: make(chan message, 1)}
	r.mu.Lock()
	r.next++
	q.id = r.next
	r.waiting[q.id] = q.answer
	r.mu.Unlock()
	if err := r.send(message{ID: &q.id, Method: method}, params); err != nil {
		q.forget()
		return nil, err
	}
	return q, nil
}

func (q *request) forget() {
	q.of.mu.Lock()
	defer q.of.mu.Unlock()
	delete(q.of.waiting, q.id)
}

// wait returns the answer, a *refusal among the errors.
func (q *request) wait(ctx context.Context) (json.RawMessage, error) {
	defer q.forget()
	select {
	case m := <-q.answer:
		return m.outcome()
	case <-q.of.ended:
		select {
		case m := <-q.answer: // it answered and ended
			return m.outcome()
		default:
			return nil, q.of.err
		}
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// call sends a request and waits for its answer.
func (r *process) call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	q, err := r.begin(method, params)
	if err != nil {
		return nil, err
	}
	return q.wait(ctx)
}

func (m message) outcome() (json.RawMessage, error) {
	if m.Error != nil {
		return nil, m.Error
	}
	return m.Result, nil
}

// notify sends a message that has no answer.
func (r *process) notify(method string, params any) {
	if err := r.send(message{Method: method}, params); err != nil {
		r.log.Warn("tell the executor program", "method", method, "err", err)
	}
}

// send queues a message: the program may be slow to read, which must not hold up
// who interrupts or ends it.
func (r *process) send(m message, params any) error {
	var err error
	if m.Params, err = json.Marshal(params); err != nil {
		return fault.Wrap(err, fault.Invalid, "the message has no JSON")
	}
	line, err := json.Marshal(m)
	if err != nil {
		return fault.Wrap(err, fault.Invalid, "the message has no JSON")
	}
	r.mu.Lock()
	r.unwritten = append(r.unwritten, append(line, '\n'))
	r.mu.Unlock()
	select {
	case r.lines <- struct{}{}:
	default:
	}
	return nil
}

// listen passes progress of an action on until the returned func is called.
func (r *process) listen(id event.ID, to func(tool.Chunk)) (stop func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if to != nil {
		r.listeners[id] = to
	}
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.listeners, id)
	}
}

func (r *process) write() {
	for {
		select {
		case <-r.lines:
		case <-r.ended:
			return
		}
		r.mu.Lock()
		lines := r.unwritten
		r.unwritten = nil
		r.mu.Unlock()
		for _, line := range lines {
			if _, err := r.child.Write(line); err != nil {
				return // it has ended or closed its input; reading tells
			}
		}
	}
}

func (r *process) read() {
	in := bufio.NewReaderSize(r.child, 64<<10)
	for {
		line, err := readLine(in)
		if err == nil {
			err = r.receive(line)
		}
		if err != nil {
			r.fail(err)
			return
		}
	}
}

// readLine reads one line of at most maxLine bytes.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		if len(line)+len(part) > maxLine {
			return nil, fault.New(fault.Invalid, fmt.Sprintf("it wrote a line of more than %d MiB to standard output", maxLine>>20))
		}
		line = append(line, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			return nil, fault.New(fault.Invalid, "it has ended, or closed its standard output")
		case err != nil:
			return nil, fault.Wrap(err, fault.Invalid, "read its standard output")
		default:
			return line, nil
		}
	}
}

// receive handles one message of the program.
func (r *process) receive(line []byte) error {
	if len(bytes.TrimSpace(line)) == 0 {
		return nil
	}
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		return fault.New(fault.Invalid, fmt.Sprintf("it wrote something to standard output that is no message: %.100q", line)).
			Hint("only messages may go to standard output; print everything else to standard error")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case m.Method == methodProgress:
		var p progressParams
		if err := json.Unmarshal(m.Params, &p); err != nil {
			return fault.Wrap(err, fault.Invalid, "it sent progress that cannot be read")
		}
		if to := r.listeners[p.ID]; to != nil {
			to(tool.Chunk{Text: p.Text})
		}
	case m.Method == "" && m.ID != nil && r.waiting[*m.ID] != nil:
		if (m.Result == nil) == (m.Error == nil) {
			return fault.New(fault.Invalid, "it sent an answer that has not exactly one of result and error")
		}
		r.waiting[*m.ID] <- m
		delete(r.waiting, *m.ID)
	default:
		if r.unknown++; r.unknown <= maxUnknown {
			r.log.Warn("executor program sent a message that nothing waits for", "method", fmt.Sprintf("%.50q", m.Method))
		}
	}
	return nil
}
