package exchange

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// maxEvent is the maximum size of the data of one event of a stream: 32 MiB.
const maxEvent = 32 << 20

// ErrEventTooLarge is the error of a stream with an event beyond maxEvent.
var ErrEventTooLarge = errors.New("an event of the stream is too large")

// Events reads the data of server-sent events (WHATWG HTML, section 9.2): data
// lines of an event are joined with LF, comments and other fields are ignored.
// Lines end with LF or CRLF; a CR alone, which the standard allows and no
// provider sends, does not end a line. An event that is cut off by the end of
// the stream is still returned, because some servers omit the last empty line;
// its content shows whether it is complete.
type Events struct {
	in   *bufio.Reader
	data []byte
	long []byte // a line longer than the reader's buffer
	any  bool   // data has at least one line
	read bool   // the first line was read
	end  error
}

// WithoutMark returns the text of an answer without the byte order mark with which
// some servers begin.
func WithoutMark(b []byte) []byte { return bytes.TrimPrefix(b, []byte("\xef\xbb\xbf")) }

// NewEvents reads events from r.
func NewEvents(r io.Reader) *Events { return &Events{in: bufio.NewReaderSize(r, 4<<10)} }

// Next returns the data of the next event, valid until the next call. At the
// end of the stream the error is io.EOF.
func (e *Events) Next() ([]byte, error) {
	e.data, e.any = e.data[:0], false
	for e.end == nil {
		line, err := e.line()
		e.end = err
		if len(line) == 0 && err == nil {
			if e.any {
				return e.data, nil
			}
			continue
		}
		if value, ok := bytes.CutPrefix(line, []byte("data")); ok {
			if err := e.take(value); err != nil {
				return nil, err
			}
		}
	}
	if e.any && errors.Is(e.end, io.EOF) {
		return e.data, nil
	}
	return nil, e.end
}

// take adds the value of a data field.
func (e *Events) take(value []byte) error {
	if len(value) > 0 {
		if value[0] != ':' {
			return nil // a field whose name only begins with data
		}
		value = bytes.TrimPrefix(value[1:], []byte(" "))
	}
	if e.any {
		e.data = append(e.data, '\n')
	}
	e.data = append(e.data, value...)
	e.any = true
	if len(e.data) > maxEvent {
		e.end = ErrEventTooLarge
		return e.end
	}
	return nil
}

// line returns the next line without its end, valid until the next call.
func (e *Events) line() ([]byte, error) {
	part, err := e.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		e.long = e.long[:0]
		for errors.Is(err, bufio.ErrBufferFull) {
			if e.long = append(e.long, part...); len(e.long) > maxEvent {
				return nil, ErrEventTooLarge
			}
			part, err = e.in.ReadSlice('\n')
		}
		e.long = append(e.long, part...)
		part = e.long
	}
	if !e.read {
		e.read, part = true, WithoutMark(part)
	}
	return bytes.TrimSuffix(bytes.TrimSuffix(part, []byte("\n")), []byte("\r")), err
}
