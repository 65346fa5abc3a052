package actionserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/runtime/protocol"
	"github.com/deft-dev/deft/tool"
)

// maxPending is how much progress waits for a slow client.
const maxPending = 256 << 10

// pending is progress on its way from a tool to a client. A tool never waits:
// output that does not fit is dropped, and the client is told how many bytes.
type pending struct {
	wake chan struct{}

	mu      sync.Mutex
	text    []byte
	dropped int
}

func (p *pending) push(c tool.Chunk) {
	p.mu.Lock()
	if p.dropped > 0 || len(p.text)+len(c.Text) > maxPending {
		p.dropped += len(c.Text)
	} else {
		p.text = append(p.text, c.Text...)
	}
	p.mu.Unlock()
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// take returns the output since the last call.
func (p *pending) take() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := string(p.text)
	if p.dropped > 0 {
		text += fmt.Sprintf("\n[%d bytes not shown]\n", p.dropped)
	}
	p.text, p.dropped = p.text[:0], 0
	return text
}

type answer struct {
	raw json.RawMessage
	err error
}

// stream runs an action and writes its progress and its result as lines. The
// action goes on when the client disconnects.
func (s *server) stream(w http.ResponseWriter, r *http.Request, q tool.Request) {
	p := &pending{wake: make(chan struct{}, 1)}
	q.Progress = p.push
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	result := make(chan answer, 1)
	go func() {
		raw, err := s.x.ExecuteJSON(ctx, q)
		result <- answer{raw, err}
	}()
	out := &lines{w: w, c: http.NewResponseController(w)}
	for {
		select {
		case <-p.wake:
			if out.chunk(p.take()); out.err != nil {
				cancel()
				<-result
				panic(http.ErrAbortHandler)
			}
		case a := <-result:
			out.chunk(p.take())
			out.final(a)
			s.acted()
			if out.err != nil {
				panic(http.ErrAbortHandler)
			}
			return
		}
	}
}

// lines writes an answer. After the first error it writes nothing more.
type lines struct {
	w     http.ResponseWriter
	c     *http.ResponseController
	begun bool
	err   error
}

func (l *lines) chunk(text string) {
	if text == "" || l.err != nil {
		return
	}
	raw, err := json.Marshal(protocol.Line{Chunk: &tool.Chunk{Text: text}})
	if err != nil {
		l.err = err
		return
	}
	l.write(http.StatusOK, raw)
	if l.err == nil {
		l.err = l.c.Flush()
	}
}

func (l *lines) final(a answer) {
	if a.err != nil {
		raw, err := json.Marshal(protocol.Line{Error: protocol.ErrorOf(a.err)})
		if err != nil {
			l.err = err
			return
		}
		l.write(fault.KindOf(a.err).HTTPStatus(), raw)
		return
	}
	var b bytes.Buffer
	b.WriteString(`{"observation":`)
	if bytes.IndexByte(a.raw, '\n') < 0 {
		b.Write(a.raw)
	} else if err := json.Compact(&b, a.raw); err != nil { // of an unregistered kind, which is kept as it is
		l.err = err
		return
	}
	b.WriteByte('}')
	l.write(http.StatusOK, b.Bytes())
}

// write writes one line; status counts if it is the first.
func (l *lines) write(status int, raw []byte) {
	if l.err != nil {
		return
	}
	if l.err = l.c.SetWriteDeadline(time.Now().Add(writeTimeout)); l.err != nil {
		return
	}
	if !l.begun {
		l.begun = true
		l.w.Header().Set("Content-Type", protocol.ContentType)
		l.w.WriteHeader(status)
	}
	_, l.err = l.w.Write(append(raw, '\n'))
}
