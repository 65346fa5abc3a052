package mcp

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// body passes on the messages that a remote server answers: one as JSON, or events with one each.
// As with [lines], what is no message is left out, and messages that the SDK would end the
// connection for are mended.
type body struct {
	io.ReadCloser
	buf    *bufio.Reader
	events bool // otherwise it is JSON
	begun  bool
	raw    bool // an event is too long; the SDK says so
	rest   []byte
	err    error

	skipped   func(text []byte)
	announced func()
}

// Read implements io.Reader. It returns at most one event, so that nothing is announced that the
// SDK does not read.
func (b *body) Read(p []byte) (int, error) {
	for len(b.rest) == 0 && b.err == nil {
		switch {
		case b.raw:
			return b.buf.Read(p)
		case b.events:
			b.rest, b.err = b.event()
		default:
			b.rest, b.err = b.whole()
		}
	}
	read := copy(p, b.rest)
	if b.rest = b.rest[read:]; read > 0 {
		return read, nil
	}
	return 0, b.err
}

// whole returns the answer in JSON, which is the last message of a batch.
func (b *body) whole() ([]byte, error) {
	text, err := io.ReadAll(b.buf)
	if err != nil {
		return nil, err
	}
	all := messages(text, func([]byte) {}, b.announced)
	if len(all) == 0 {
		return text, io.EOF // the SDK says why it is none
	}
	return all[len(all)-1], io.EOF
}

// event returns the next event, or nothing for one without a message.
func (b *body) event() ([]byte, error) {
	var event []byte
	for start := 0; ; {
		part, err := b.buf.ReadSlice('\n')
		event = append(event, part...)
		switch {
		case len(event) > maxMessage:
			b.raw = true
			return event, nil
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil:
			return event, err
		}
		if len(bytes.TrimRight(event[start:], "\r\n")) == 0 {
			return b.mended(event), nil
		}
		start = len(event)
	}
}

// mended returns an event with each of its messages. Events of other kinds are not changed.
func (b *body) mended(event []byte) (out []byte) {
	if !b.begun {
		event, b.begun = bytes.TrimPrefix(event, []byte("\xef\xbb\xbf")), true
	}
	var other, data []byte
	for line := range bytes.Lines(event) {
		field, value, _ := bytes.Cut(bytes.TrimRight(line, "\r\n"), []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch {
		case string(field) == "data":
			data = append(append(data, value...), '\n')
			continue
		case string(field) == "event" && string(value) != "message":
			return event
		case len(field) > 0:
			other = append(other, line...)
		}
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return event
	}
	for _, m := range messages(data, b.skipped, b.announced) {
		out = append(append(append(append(out, other...), "data: "...), m...), "\n\n"...)
	}
	return out
}
