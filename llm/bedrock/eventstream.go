package bedrock

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// Sizes of a message of an event stream, in bytes, after
// https://smithy.io/2.0/aws/amazon-eventstream.html.
const (
	preludeSize = 12 // total length, headers length, checksum of both
	trailerSize = 4  // checksum of all before
	maxHeaders  = 128 << 10
	maxMessage  = 24<<20 + maxHeaders
)

var (
	errChecksum = errors.New("a message of the event stream has a wrong checksum")
	errFraming  = errors.New("a message of the event stream is malformed")
)

// message is one message of an event stream.
type message struct {
	kind      string // :message-type: "event", "exception" or "error"
	event     string // :event-type
	exception string // :exception-type, or :error-code
	words     string // :error-message
	payload   []byte // valid until the next message
}

// decoder reads messages. Its buffer has the size of the largest message so
// far.
type decoder struct {
	in  *bufio.Reader
	buf []byte
}

func newDecoder(r io.Reader) *decoder { return &decoder{in: bufio.NewReaderSize(r, 16<<10)} }

// next returns the next message; io.EOF at a clean end, io.ErrUnexpectedEOF inside
// a message. Other errors come from the reader, or describe malformed data.
func (d *decoder) next() (message, error) {
	var prelude [preludeSize]byte
	if _, err := io.ReadFull(d.in, prelude[:]); err != nil {
		return message{}, err
	}
	total := binary.BigEndian.Uint32(prelude[0:4])
	headers := binary.BigEndian.Uint32(prelude[4:8])
	if crc32.ChecksumIEEE(prelude[:8]) != binary.BigEndian.Uint32(prelude[8:12]) {
		return message{}, errChecksum
	}
	if total < preludeSize+trailerSize || total > maxMessage || headers > maxHeaders || headers > total-preludeSize-trailerSize {
		return message{}, fmt.Errorf("%w: %d bytes with %d of headers", errFraming, total, headers)
	}
	if err := d.fill(int(total) - preludeSize); err != nil {
		return message{}, err
	}
	end := len(d.buf) - trailerSize
	sum := crc32.Update(crc32.ChecksumIEEE(prelude[:]), crc32.IEEETable, d.buf[:end])
	if sum != binary.BigEndian.Uint32(d.buf[end:]) {
		return message{}, errChecksum
	}
	m := message{payload: d.buf[headers:end]}
	if err := m.readHeaders(d.buf[:headers]); err != nil {
		return message{}, err
	}
	return m, nil
}

// fill reads n bytes. The buffer grows as bytes arrive, so a false length costs
// no memory.
func (d *decoder) fill(n int) error {
	const step = 64 << 10
	d.buf = d.buf[:0]
	for len(d.buf) < n {
		at := len(d.buf)
		want := min(n, at+step)
		if cap(d.buf) < want {
			bigger := make([]byte, at, max(want, 2*cap(d.buf)))
			copy(bigger, d.buf)
			d.buf = bigger
		}
		d.buf = d.buf[:want]
		if _, err := io.ReadFull(d.in, d.buf[at:]); err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
	}
	return nil
}

// fixed are the sizes of header values by type; types 6 and 7, bytes and text,
// have their own length.
var fixed = [...]int{0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 6: -1, 7: -1, 8: 8, 9: 16}

func (m *message) readHeaders(b []byte) error {
	for len(b) > 0 {
		n := int(b[0])
		if n == 0 || len(b) < 2+n {
			return fmt.Errorf("%w: a header's name", errFraming)
		}
		name, kind := b[1:1+n], int(b[1+n])
		b = b[2+n:]
		if kind >= len(fixed) {
			return fmt.Errorf("%w: a header of type %d", errFraming, kind)
		}
		size := fixed[kind]
		if size < 0 {
			if len(b) < 2 {
				return fmt.Errorf("%w: a header's length", errFraming)
			}
			size = int(binary.BigEndian.Uint16(b))
			b = b[2:]
		}
		if len(b) < size {
			return fmt.Errorf("%w: a header's value", errFraming)
		}
		if kind == 7 {
			m.header(string(name), string(b[:size]))
		}
		b = b[size:]
	}
	return nil
}

func (m *message) header(name, value string) {
	switch name {
	case ":message-type":
		m.kind = value
	case ":event-type":
		m.event = value
	case ":exception-type", ":error-code":
		m.exception = value
	case ":error-message":
		m.words = value
	}
}
