package acpagent

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync"

	acp "github.com/coder/acp-go-sdk"
)

// maxLine bounds a message of the program, in bytes; the SDK takes 10 MB.
const maxLine = 9 << 20

// maxUpdates is how many updates are read ahead of the one that is being taken. The SDK gives a
// connection up at 1,024.
const maxUpdates = 512

// maxRequests is how many requests of the program are answered at once. Only [maxTerminals] of them
// can wait for the end of a command.
const maxRequests = 256

// maxPrinted is more than is shown, as secrets are masked before a text is shortened.
const maxPrinted = 4 * maxTitle

// lines passes on the messages of a program, and keeps everything else that it prints for an error.
type lines struct {
	in    *bufio.Reader
	rest  []byte
	ready chan struct{} // closed when the connection is set up: it reads from its beginning on

	mu      sync.Mutex
	changed sync.Cond // when waiting, asking or closed has
	waiting int       // updates that were passed on and not taken
	asking  int       // requests that were passed on and not answered
	closed  bool
	printed string // the last line that is no message, at most maxPrinted bytes of it
}

func newLines(in io.Reader) *lines {
	l := &lines{in: bufio.NewReaderSize(in, 64<<10), ready: make(chan struct{})}
	l.changed.L = &l.mu
	return l
}

// Read implements io.Reader.
func (l *lines) Read(p []byte) (int, error) {
	<-l.ready
	for len(l.rest) == 0 {
		line, err := l.line()
		if err != nil {
			return 0, err
		}
		if !l.message(line) {
			continue
		}
		l.rest = line
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// line reads one line; of one that is too long its beginning.
func (l *lines) line() ([]byte, error) {
	var line []byte
	for {
		part, err := l.in.ReadSlice('\n')
		if room := maxLine - len(line); room > 0 {
			line = append(line, part[:min(len(part), room)]...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && len(line) == 0 {
			return nil, err
		}
		return line, nil
	}
}

// message reports whether a line is a message of the protocol. An update waits until there are few
// before it, and a request until there is none: the SDK hands both out side by side.
func (l *lines) message(line []byte) bool {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	trimmed := bytes.TrimSpace(line)
	if len(trimmed) == 0 {
		return false
	}
	if trimmed[0] != '{' || json.Unmarshal(trimmed, &m) != nil {
		l.mu.Lock()
		l.printed = strings.ToValidUTF8(string(trimmed[:min(len(trimmed), maxPrinted)]), "�")
		l.mu.Unlock()
		return false
	}
	update := m.Method == acp.ClientMethodSessionUpdate
	switch {
	case update && len(m.ID) > 0: // it is no request
		return false
	case update:
		return l.await(maxUpdates, 1)
	case m.Method != "" && len(m.ID) > 0:
		return l.await(1, 0) && l.ask()
	}
	return len(m.ID) > 0 || strings.HasPrefix(m.Method, "$/") // other news has no meaning here
}

// await waits until fewer than most updates wait, and adds some.
func (l *lines) await(most, more int) (open bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.waiting >= most && !l.closed {
		l.changed.Wait()
	}
	l.waiting += more
	return !l.closed
}

// ask waits until few requests are being answered, and counts one more.
func (l *lines) ask() (open bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.asking >= maxRequests && !l.closed {
		l.changed.Wait()
	}
	l.asking++
	return !l.closed
}

// answered says that a request was answered.
func (l *lines) answered() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asking--
	l.changed.Broadcast()
}

// taken says that an update was taken.
func (l *lines) taken() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting--
	l.changed.Broadcast()
}

// close lets nobody wait any more.
func (l *lines) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.changed.Broadcast()
}

// last is the last line that was no message.
func (l *lines) last() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.printed
}
