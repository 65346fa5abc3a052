package mcpserve

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/deft-dev/deft/internal/textfile"
)

// lines passes on the messages of a client, one a line, and answers lines that are none: the SDK
// would end the connection. A batch becomes its messages, which are answered one by one.
type lines struct {
	from io.ReadCloser
	buf  *bufio.Reader
	rest []byte // of the messages that are being read
	to   *output
}

func newLines(from io.ReadCloser, to *output) *lines {
	return &lines{from: from, buf: bufio.NewReaderSize(from, 64<<10), to: to}
}

// Read implements [io.Reader].
func (l *lines) Read(p []byte) (int, error) {
	for len(l.rest) == 0 {
		line, long, err := l.line()
		switch {
		case len(line) == 0 && !long && err != nil:
			return 0, err
		case long:
			err = l.to.refuse(jsonrpc.CodeInvalidRequest, fmt.Sprintf("the message is longer than %d MiB", maxMessage>>20), nil)
		default: // after the last line without its end follows io.EOF
			l.rest, err = l.messages(line)
		}
		if err != nil {
			return 0, err
		}
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// line returns the next line, or says that it is too long.
func (l *lines) line() (line []byte, long bool, err error) {
	for {
		part, err := l.buf.ReadSlice('\n')
		if len(line)+len(part) > maxMessage {
			line, long = nil, true
		}
		if !long {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, long, err
		}
	}
}

// messages returns the messages of a line, each with a line end, and answers everything else.
func (l *lines) messages(line []byte) (out []byte, err error) {
	line = bytes.TrimSpace(textfile.Decode(line))
	if len(line) == 0 {
		return nil, nil
	}
	if !json.Valid(line) {
		return nil, l.to.refuse(jsonrpc.CodeParseError, "the line is no JSON; a message is one line", nil)
	}
	list := []json.RawMessage{line}
	if line[0] == '[' {
		if err := json.Unmarshal(line, &list); err != nil {
			return nil, err
		}
	}
	for _, raw := range list {
		if _, err := jsonrpc.DecodeMessage(raw); err != nil {
			if err := l.to.refuse(jsonrpc.CodeInvalidRequest, "this is no message of JSON-RPC 2.0", idOf(raw)); err != nil {
				return nil, err
			}
			continue
		}
		out = append(append(out, raw...), '\n')
	}
	return out, nil
}

// idOf is the id of a message that is none; nil if it has none.
func idOf(raw json.RawMessage) json.RawMessage {
	var m struct{ ID json.RawMessage }
	if json.Unmarshal(raw, &m) != nil || len(m.ID) == 0 || m.ID[0] == '{' || m.ID[0] == '[' {
		return nil
	}
	return m.ID
}

// Close implements [io.Closer].
func (l *lines) Close() error { return l.from.Close() }

// output is where whole messages are written, by the SDK and for lines that it does not see.
type output struct {
	mu sync.Mutex
	to io.WriteCloser
}

// Write implements [io.Writer].
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.to.Write(p)
}

// refuse answers a line that is no message.
func (o *output) refuse(code int64, why string, id json.RawMessage) error {
	text, err := json.Marshal(why)
	if err == nil {
		_, err = fmt.Fprintf(o, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`+"\n", cmp.Or(string(id), "null"), code, text)
	}
	return err
}

// Close implements [io.Closer].
func (o *output) Close() error { return o.to.Close() }
