package mcp

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
)

// errLine ends the connection to a server that sends an endless line.
var errLine = errors.New("a line of the server is too long")

// lines passes on the lines of a server that can be messages. Some servers print
// other text to their standard output as well, which would break the connection.
type lines struct {
	from io.ReadCloser
	buf  *bufio.Reader
	rest []byte // of the line that is being read
}

func newLines(from io.ReadCloser) *lines {
	return &lines{from: from, buf: bufio.NewReaderSize(from, 64<<10)}
}

// Read implements io.Reader.
func (l *lines) Read(p []byte) (int, error) {
	for len(l.rest) == 0 {
		line, err := l.line()
		if err != nil {
			return 0, err
		}
		l.rest = line
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// line returns the next message, or nothing for a line that is none.
func (l *lines) line() ([]byte, error) {
	var line []byte
	for first, size, wanted := true, 0, false; ; first = false {
		part, err := l.buf.ReadSlice('\n')
		if size += len(part); size > maxMessage {
			return nil, errLine
		}
		if first {
			wanted = message(part)
		}
		if wanted {
			line = append(line, part...)
		}
		switch {
		case err == nil && !json.Valid(line): // "[info] started" looks like one
			return nil, nil
		case err == nil:
			return line, nil
		case errors.Is(err, io.EOF) && len(line) > 0:
			return line, nil // the next one is the end
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// message reports whether a line may be a JSON-RPC message or a batch.
func message(line []byte) bool {
	for _, c := range line {
		switch c {
		case ' ', '\t', '\r':
		case '{', '[':
			return true
		default:
			return false
		}
	}
	return false
}

// Close implements io.Closer.
func (l *lines) Close() error { return l.from.Close() }
