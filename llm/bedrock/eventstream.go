package bedrock

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
)

// errFraming means that a message of the event stream
// (https://smithy.io/2.0/aws/amazon-eventstream.html) is damaged or malformed.
var errFraming = errors.New("a message of the event stream is malformed")

// message is one message of an event stream.
type message struct {
	kind      string // :message-type: "event", "exception" or "error"
	event     string // :event-type
	exception string // :exception-type, or :error-code
	words     string // :error-message
	payload   []byte // valid until the next message
}

// decoder reads messages. Its buffer has the size of the largest payload so
// far, and grows as bytes arrive: a false length costs no memory.
type decoder struct {
	in      source
	decoder *eventstream.Decoder
	buf     []byte
}

func newDecoder(r io.Reader) *decoder {
	return &decoder{in: source{r: bufio.NewReaderSize(r, 16<<10)}, decoder: eventstream.NewDecoder()}
}

// source remembers what it has read of a message, and how it failed.
type source struct {
	r   io.Reader
	n   int
	err error
}

// Read implements [io.Reader].
func (s *source) Read(p []byte) (n int, err error) {
	n, err = s.r.Read(p)
	s.n, s.err = s.n+n, err
	return n, err
}

// next returns the next message; io.EOF at a clean end, io.ErrUnexpectedEOF inside
// a message. Other errors come from the reader, or describe malformed data.
func (d *decoder) next() (message, error) {
	d.in.n = 0
	read, err := d.decoder.Decode(&d.in, d.buf)
	switch {
	case err == nil:
	case errors.Is(d.in.err, io.EOF) && d.in.n > 0:
		return message{}, io.ErrUnexpectedEOF
	case d.in.err != nil:
		return message{}, d.in.err
	default:
		return message{}, fmt.Errorf("%w: %w", errFraming, err)
	}
	d.buf = read.Payload
	m := message{payload: read.Payload}
	for _, h := range read.Headers {
		value, ok := h.Value.(eventstream.StringValue)
		if !ok {
			continue
		}
		switch h.Name {
		case ":message-type":
			m.kind = string(value)
		case ":event-type":
			m.event = string(value)
		case ":exception-type", ":error-code":
			m.exception = string(value)
		case ":error-message":
			m.words = string(value)
		}
	}
	return m, nil
}
