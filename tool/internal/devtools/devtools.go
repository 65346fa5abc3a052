// Package devtools speaks the Chrome DevTools Protocol with a browser over two pipes.
//
// The commands and events are typed by cdproto. The connection is Deft's own: the client of chromedp
// follows the document of each page in queues that a hostile page can fill until both sides wait for each
// other, and the one of rod reads the command line of its program.
//
// # Usage
//
//	c := devtools.New(fromBrowser, toBrowser, func(e devtools.Event) { … })
//	defer c.Close()
//	v, err := devtools.Call(ctx, c, "", browser.GetVersion, cdp.Empty{})
//
// # Concurrency
//
// A connection is safe for concurrent use. Its function for events is called by one goroutine and must not
// wait for an answer of the browser.
//
// # Failure
//
// Errors of the browser are [*Error]. [ErrGone] says that the page or the browser has ended.
package devtools

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/inspector"
	"github.com/chromedp/cdproto/target"
)

// MaxMessage bounds a message of the browser, in bytes. A longer one is dropped, and all calls that wait
// then fail with [ErrTooLong].
const MaxMessage = 32 << 20

// The errors of calls without an answer.
var (
	ErrGone    = errors.New("the page has ended")
	ErrTooLong = errors.New("the page is too large")
)

// noSession is the code of the browser's error for a page that has ended.
const noSession = -32001

// Error is an error of the browser.
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// Error implements the interface error.
func (e *Error) Error() string { return e.Message }

// Event is an event of the browser, or of the page with a session.
type Event struct {
	Session target.SessionID
	Method  string
	Params  jsonv2.Value
}

// Decode decodes the parameters of an event.
func Decode[E any](e Event, _ cdp.Event[E]) (E, error) {
	var v E
	err := jsonv2.Unmarshal(e.Params, &v, options)
	return v, err
}

var options = jsonv2.JoinOptions(jsonv2.DefaultOptionsV2(), jsonv2.AllowInvalidUTF8(true))

// Conn is a connection. Make one with [New].
type Conn struct {
	in     *bufio.Reader
	pipes  []io.Closer
	out    io.Writer
	events func(Event)
	work   sync.WaitGroup
	done   chan struct{} // closed at the end of the browser's pipe
	wake   chan struct{} // holds one while the queue may have messages

	mu      sync.Mutex // guards the fields below
	ended   bool
	last    int64
	queue   [][]byte
	waiting map[int64]call
	crashed map[target.SessionID]bool // pages that answer no command
}

// call is a call that waits for its answer.
type call struct {
	session target.SessionID
	answer  chan answer // takes one
}

type answer struct {
	result jsonv2.Value
	err    error
}

// New returns a connection that reads the browser's messages from in and writes to out. It owns both.
func New(in io.ReadCloser, out io.WriteCloser, events func(Event)) *Conn {
	c := &Conn{
		in: bufio.NewReaderSize(in, 64<<10), out: out, pipes: []io.Closer{in, out}, events: events,
		done: make(chan struct{}), wake: make(chan struct{}, 1), waiting: map[int64]call{}, crashed: map[target.SessionID]bool{},
	}
	c.work.Go(c.read)
	c.work.Go(c.write)
	return c
}

// Done returns a channel that is closed when the browser has closed the connection.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Close closes the connection and waits until no event is delivered any more.
func (c *Conn) Close() error {
	var errs []error
	for _, p := range c.pipes {
		errs = append(errs, p.Close())
	}
	c.work.Wait()
	return errors.Join(errs...)
}

// Call sends a command to a page, or with an empty session to the browser, and waits for the result.
func Call[P, R any](ctx context.Context, c *Conn, session target.SessionID, cmd cdp.Command[P, R], params P) (R, error) {
	var result R
	id, waiting, ok := c.expect(session)
	if !ok {
		return result, fmt.Errorf("%s: %w", cmd.Method, ErrGone)
	}
	if err := c.send(id, session, cmd.Method, params); err != nil {
		c.forget(id)
		return result, err
	}
	select {
	case a := <-waiting:
		if a.err != nil {
			return result, fmt.Errorf("%s: %w", cmd.Method, a.err)
		}
		if err := jsonv2.Unmarshal(a.result, &result, options); err != nil {
			return result, fmt.Errorf("read the result of %s: %w", cmd.Method, err)
		}
		return result, nil
	case <-ctx.Done():
		c.forget(id)
		return result, ctx.Err()
	}
}

// Send sends a command without waiting for its result.
func Send[P, R any](c *Conn, session target.SessionID, cmd cdp.Command[P, R], params P) error {
	c.mu.Lock()
	c.last++
	id := c.last
	c.mu.Unlock()
	return c.send(id, session, cmd.Method, params)
}

// expect gives a call its number and the channel of its answer; not ok if there will be none.
func (c *Conn) expect(session target.SessionID) (id int64, waiting <-chan answer, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended || c.crashed[session] {
		return 0, nil, false
	}
	c.last++
	one := call{session, make(chan answer, 1)}
	c.waiting[c.last] = one
	return c.last, one.answer, true
}

func (c *Conn) forget(id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, id)
}

// send puts a command into the queue: the writing of a command may wait for the browser.
func (c *Conn) send(id int64, session target.SessionID, method string, params any) error {
	raw, err := jsonv2.Marshal(struct {
		ID      int64            `json:"id"`
		Session target.SessionID `json:"sessionId,omitempty"`
		Method  string           `json:"method"`
		Params  any              `json:"params,omitempty"`
	}{id, session, method, params}, options)
	if err != nil {
		return fmt.Errorf("write %s: %w", method, err)
	}
	c.mu.Lock()
	if !c.ended {
		c.queue = append(c.queue, append(raw, 0))
	}
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default:
	}
	return nil
}

func (c *Conn) write() {
	for {
		select {
		case <-c.wake:
		case <-c.done:
			return
		}
		c.mu.Lock()
		queue := c.queue
		c.queue = nil
		c.mu.Unlock()
		for _, message := range queue {
			if _, err := c.out.Write(message); err != nil {
				return // the reader notices the end, too
			}
		}
	}
}

func (c *Conn) read() {
	defer func() {
		close(c.done) // who waits for a call knows of it by then
		c.mu.Lock()
		defer c.mu.Unlock()
		c.ended = true
		c.fail(func(call) bool { return true }, ErrGone)
	}()
	for {
		raw, err := c.message()
		if errors.Is(err, ErrTooLong) {
			c.mu.Lock()
			c.fail(func(call) bool { return true }, err)
			c.mu.Unlock()
			continue
		}
		if err != nil {
			return
		}
		var m struct {
			ID      int64            `json:"id"`
			Session target.SessionID `json:"sessionId"`
			Method  string           `json:"method"`
			Params  jsonv2.Value     `json:"params"`
			Result  jsonv2.Value     `json:"result"`
			Error   *Error           `json:"error"`
		}
		if jsonv2.Unmarshal(raw, &m, options) != nil {
			continue // the browser sends none
		}
		if m.Method != "" {
			c.event(Event{m.Session, m.Method, m.Params})
			continue
		}
		c.mu.Lock()
		one, ok := c.waiting[m.ID]
		delete(c.waiting, m.ID)
		c.mu.Unlock()
		switch {
		case !ok:
		case m.Error != nil && m.Error.Code == noSession:
			one.answer <- answer{err: ErrGone}
		case m.Error != nil:
			one.answer <- answer{err: m.Error}
		default:
			one.answer <- answer{result: m.Result}
		}
	}
}

// message reads up to the next zero byte.
func (c *Conn) message() ([]byte, error) {
	var all []byte
	for long := false; ; {
		part, err := c.in.ReadSlice(0)
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return nil, err
		}
		if long = long || len(all)+len(part) > MaxMessage; long {
			all = nil
		} else {
			all = append(all, part...)
		}
		if err == nil {
			if long {
				return nil, ErrTooLong
			}
			return all[:len(all)-1], nil
		}
	}
}

// event passes an event on. Calls to a page that has ended are never answered, and those to a crashed page
// only when it has been loaded again. Who waits for one knows of the event by then.
func (c *Conn) event(e Event) {
	if e.Method == inspector.TargetReloadedAfterCrash.Method {
		c.mu.Lock()
		delete(c.crashed, e.Session)
		c.mu.Unlock()
	}
	c.events(e)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch e.Method {
	case target.DetachedFromTarget.Method:
		if d, err := Decode(e, target.DetachedFromTarget); err == nil {
			delete(c.crashed, d.SessionID)
			c.end(d.SessionID)
		}
	case inspector.TargetCrashed.Method:
		c.crashed[e.Session] = true
		c.end(e.Session)
	}
}

// end ends the calls to a page. The caller holds the mutex.
func (c *Conn) end(session target.SessionID) {
	c.fail(func(one call) bool { return one.session == session }, ErrGone)
}

// fail ends calls. The caller holds the mutex.
func (c *Conn) fail(which func(call) bool, err error) {
	for id, one := range c.waiting {
		if which(one) {
			delete(c.waiting, id)
			one.answer <- answer{err: err}
		}
	}
}
