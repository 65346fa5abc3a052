package mcp

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/deft-dev/deft/internal/lazyregexp"
)

// errLine ends the connection to a server that sends an endless line.
var errLine = errors.New("a line of the server is too long")

// maxSkipped bounds a line that is read and not used, in bytes.
const maxSkipped = 1 << 30

// lines passes on the messages that a server writes to its standard output, one a line.
// Many servers print other things there as well, such as log lines in JSON. These, and
// messages that the SDK would end the connection for, are left out or mended.
type lines struct {
	from io.ReadCloser
	buf  *bufio.Reader
	rest []byte // of the messages that are being read

	// skipped is told of everything that is left out, at most maxPrinted bytes of each;
	// announced of a change of the list of tools, before any later message is read.
	skipped   func(line []byte)
	announced func()
}

func newLines(from io.ReadCloser, skipped func([]byte), announced func()) *lines {
	return &lines{from: from, buf: bufio.NewReaderSize(from, 64<<10), skipped: skipped, announced: announced}
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

// line returns the messages of the next line, or nothing for a line without any.
func (l *lines) line() ([]byte, error) {
	var line, last []byte
	for size, wanted := 0, false; ; {
		part, err := l.buf.ReadSlice('\n')
		if size == 0 {
			wanted = message(part)
		}
		size += len(part)
		switch {
		case size > maxSkipped:
			return nil, errLine
		case size > maxMessage && wanted:
			line = line[:min(len(line), headOfMessage)]
			last = append(last[:0], part...)
		case wanted:
			line = append(line, part...)
		default:
			line = append(line, part[:min(len(part), maxPrinted-len(line))]...)
		}
		switch {
		case err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		case err != nil && (len(line) == 0 || errors.Is(err, bufio.ErrBufferFull)):
			if errors.Is(err, io.EOF) {
				return nil, err
			}
			continue
		case !wanted:
			l.skip(line)
			return nil, nil
		case size > maxMessage:
			return tooLong(line, last), nil
		}
		return l.messages(line), nil // after the last line follows io.EOF
	}
}

// message reports whether a line may be a JSON-RPC message or a batch.
func message(line []byte) bool {
	line = bytes.TrimLeft(bytes.TrimPrefix(line, []byte("\xef\xbb\xbf")), " \t\r")
	return len(line) > 0 && (line[0] == '{' || line[0] == '[')
}

// skip tells of a line that is left out. Empty ones are nothing.
func (l *lines) skip(line []byte) {
	if line = bytes.TrimSpace(line[:min(len(line), maxPrinted)]); len(line) > 0 {
		l.skipped(line)
	}
}

// messages returns the messages of a line, each with a line end.
func (l *lines) messages(line []byte) (out []byte) {
	for _, m := range messages(line, l.skip, l.announced) {
		out = append(append(out, m...), '\n')
	}
	return out
}

// messages returns the messages of a text: one, or a batch. skip is told of everything else.
func messages(text []byte, skip func([]byte), announced func()) (out [][]byte) {
	text = bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")))
	list := []json.RawMessage{text}
	if len(text) > 0 && text[0] == '[' && json.Unmarshal(text, &list) != nil {
		skip(text)
		return nil
	}
	for _, raw := range list {
		m, method := mended(raw)
		if m == nil {
			skip(raw)
			continue
		}
		if method == listChanged {
			announced()
		}
		out = append(out, m)
	}
	return out
}

// listChanged is the method by which servers announce other tools.
const listChanged = "notifications/tools/list_changed"

// mended returns a message as the SDK takes it, and its method, or nil for anything else. Answers
// may lack the version, have null in place of what they lack, and repeat the id of a request as
// text: ours are numbers.
func mended(raw json.RawMessage) (message []byte, method string) {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil || m == nil {
		return nil, ""
	}
	before := len(m)
	for _, name := range []string{"method", "params", "error"} {
		if string(m[name]) == "null" {
			delete(m, name)
		}
	}
	if m["error"] != nil && string(m["result"]) == "null" {
		delete(m, "result")
	}
	changed := len(m) < before
	if answer := cmp.Or(string(m["result"]), string(m["error"])); m["method"] == nil && answer != "" && m["id"] != nil {
		var text string
		if json.Unmarshal(m["id"], &text) == nil && text != "" && text[0] != '-' {
			if _, err := strconv.ParseUint(text, 10, 63); err == nil {
				m["id"], changed = json.RawMessage(text), true
			}
		}
		if m["jsonrpc"] == nil && answer[0] == '{' { // a log line may have an id and a result, too
			m["jsonrpc"], changed = json.RawMessage(`"2.0"`), true
		}
	}
	if changed {
		if fixed, err := json.Marshal(m); err == nil {
			raw = fixed
		}
	}
	decoded, err := jsonrpc.DecodeMessage(raw)
	if err != nil {
		return nil, ""
	}
	if r, ok := decoded.(*jsonrpc.Request); ok {
		method = r.Method
	}
	return bytes.ReplaceAll(raw, []byte("\n"), nil), method
}

// headOfMessage is how much is kept of a message that is too long, in bytes.
const headOfMessage = 4 << 10

// The id of an answer stands before or after its result.
var (
	idBefore = lazyregexp.New(`^[\s\x{feff}]*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*"?(\d+)"?\s*,`)
	idAfter  = lazyregexp.New(`,\s*"id"\s*:\s*"?(\d+)"?\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$`)
)

// tooLong returns an error as the answer to the request that a message of more than
// maxMessage answers, so that this call fails and no other one.
func tooLong(head, tail []byte) []byte {
	id := idBefore().FindSubmatch(head)
	if id == nil {
		id = idAfter().FindSubmatch(tail)
	}
	if id == nil {
		return nil
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"the answer of the server is larger than %d MiB"}}`+"\n", id[1], maxMessage>>20)
}

// Close implements io.Closer.
func (l *lines) Close() error { return l.from.Close() }
