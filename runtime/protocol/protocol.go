// Package protocol is the wire form of asking an Action Execution Server for
// actions: the requests of runtime/remote and the answers of runtime/actionserver,
// over HTTP/1.1 on any stream socket. Any program in any language may speak it.
//
//	POST /v1/actions/{id}            a tool.Request → lines of Line, the last one final
//	POST /v1/actions/{id}/interrupt  stops a running action
//	POST /v1/actions/{id}/ack        the result is stored elsewhere
//	POST /v1/ack                     Ack: the same for many
//	POST /v1/prepare                 the controller has no action pending
//	GET  /v1/lease                   held open while a controller is connected
//	POST /v1/linger                  Linger: how long to live without a controller, until the next prepare
//	POST /v1/shutdown                ends the server
//	GET  /health                     Health
//	GET  /v1/tools                   Tools
//	     /v1/files/…                 the workspace's files: see workspace/link
//	POST /v1/programs                a program → 101, then its input and output
//	POST /v1/ptys                    a tool.PTYSpec → tool.PTY: opens a pseudo terminal
//	GET  /v1/ptys                    PTYs
//	POST /v1/ptys/{id}/attach        → 101, then its input and output
//	POST /v1/ptys/{id}/resize        PTYSize: changes its size
//	DELETE /v1/ptys/{id}             ends it
//	POST /v1/view                    → 101, then lines of JSON in both directions: a live view
//	GET  /v1/ports                   Ports
//	POST /v1/ports/{port}/connect    → 101, then the bytes of a TCP connection
//
// The body of a request for an action is an object; all of its fields may be
// missing:
//
//	action   the action, as in an ActionEvent; not needed if the id is known
//	tool     the name by which the model called it
//	agent    whose shell a command is for, where several agents work in one sandbox
//	again    the action may have been asked for before
//	tail     when joining: begin with the end of the output so far
//	secrets  values for the environment of the command, by name; never kept
//	ack      ids of results that are stored elsewhere
//
// The body of a request for a program is an object with command, args, dir and
// env; only command is required. The answer is 101 Switching Protocols, with
// "Upgrade: deft-program". From then on each direction is a body in HTTP's chunked
// form: the client sends the program's standard input, the server its standard
// output. The client's last chunk, or the loss of the connection, makes the server
// end the program. After its own last chunk the server sends a ProgramEnd as JSON
// and closes the connection.
//
// A connection to a pseudo terminal is the same, with "Upgrade: deft-pty". It begins
// with ?offset=N: output behind the first N bytes that the terminal has written, or
// with the oldest that is kept; the header Deft-Offset of the answer says which. The
// client's last chunk, or the loss of the connection, detaches the client: the
// terminal goes on. The end of the connection is a PTYEnd.
//
// A connection to a port, with "Upgrade: deft-port", is in chunked form too: the last
// chunk of a direction says that nothing more comes from there.
//
// An error before anything was streamed has the HTTP status of its kind; its
// body is a Line as well, so that a client reads only one form.
//
// Everything here is a value or used by one goroutine. Decoding errors are of
// kind fault.Corrupt, except that a stream which ends early gives
// io.ErrUnexpectedEOF.
package protocol

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/tool"
)

const (
	// MaxRequest is how many bytes a request's body may have.
	MaxRequest = 64 << 20
	// MaxLine is how many bytes a line of an answer may have.
	MaxLine = 136 << 20
	// ContentType is the type of an answer of lines.
	ContentType = "application/x-ndjson"
)

// Ack says which results are stored elsewhere.
type Ack struct {
	Ack []event.ID `json:"ack"`
}

// Linger says how long the server and its processes wait for a controller.
type Linger struct {
	Seconds float64 `json:"seconds"`
}

// MaxLinger bounds it.
const MaxLinger = 10 * 365 * 24 * time.Hour

// Line is one line of an answer: exactly one field is set. An observation or
// an error is final.
type Line struct {
	Chunk       *tool.Chunk     `json:"chunk,omitempty"`
	Observation json.RawMessage `json:"observation,omitempty"`
	Error       *Error          `json:"error,omitempty"`
}

// Error is an error with its kind on the wire.
type Error struct {
	Kind    fault.Kind `json:"kind"`
	Message string     `json:"message"`
	Hint    string     `json:"hint,omitempty"`
}

// ErrorOf returns the wire form of err.
func ErrorOf(err error) *Error {
	return &Error{Kind: fault.KindOf(err), Message: err.Error(), Hint: fault.HintOf(err)}
}

// Err returns e as an error.
func (e *Error) Err() error {
	err := fault.New(e.Kind, e.Message)
	if e.Hint != "" {
		err = err.Hint(e.Hint)
	}
	return err
}

// Health is the state of a server.
type Health struct {
	Status  string     `json:"status"` // ok, degraded (see Journal) or stopping
	PID     int        `json:"pid"`
	Started time.Time  `json:"started"`
	Running []event.ID `json:"running"`
	Tools   []string   `json:"tools"`             // kinds of actions
	Journal string     `json:"journal,omitempty"` // the journal's error
}

// Tools are the tools that the server's executors bring, for the agent to offer.
type Tools struct {
	Tools []tool.External `json:"tools"`
}

// Decoder reads the lines of an answer.
type Decoder struct {
	in   *bufio.Reader
	line []byte
	max  int
}

// NewDecoder returns a Decoder that reads from r and rejects lines longer than
// MaxLine.
func NewDecoder(r io.Reader) *Decoder {
	return &Decoder{in: bufio.NewReaderSize(r, 32<<10), max: MaxLine}
}

// Next returns the next line. It returns io.ErrUnexpectedEOF when the stream
// ends, for a caller stops reading at the final line.
func (d *Decoder) Next() (Line, error) {
	raw, err := d.read()
	if err != nil {
		return Line{}, err
	}
	var l Line
	if err := json.Unmarshal(raw, &l); err != nil {
		return Line{}, fault.Wrap(err, fault.Corrupt, "the action server's answer cannot be read")
	}
	set := 0
	for _, is := range []bool{l.Chunk != nil, l.Observation != nil, l.Error != nil} {
		if is {
			set++
		}
	}
	if set != 1 {
		return Line{}, fault.New(fault.Corrupt, "a line of the action server's answer does not have exactly one field")
	}
	return l, nil
}

// read returns the next line that is not blank, valid until the next call.
func (d *Decoder) read() ([]byte, error) {
	d.line = d.line[:0]
	for {
		part, err := d.in.ReadSlice('\n')
		if len(d.line)+len(part) > d.max {
			return nil, fault.New(fault.Corrupt, fmt.Sprintf("a line of the action server's answer has more than %d bytes", d.max))
		}
		d.line = append(d.line, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF): // only a line end completes a line
			return nil, io.ErrUnexpectedEOF
		case err != nil:
			return nil, err
		case len(bytes.TrimSpace(d.line)) == 0:
			d.line = d.line[:0]
		default:
			return d.line, nil
		}
	}
}
