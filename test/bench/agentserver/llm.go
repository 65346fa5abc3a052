package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// llm stands in for the LLM. It answers every user message with as many calls
// of the terminal as the model's name says ("tools-3"), and then with a text.
type llm struct {
	http  *http.Server
	url   string
	calls atomic.Int64
	delay atomic.Int64 // of each answer, nanoseconds
}

func newLLM(ctx context.Context) (*llm, error) {
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &llm{url: "http://" + ln.Addr().String() + "/v1"}
	l.http = &http.Server{Handler: http.HandlerFunc(l.answer), ReadHeaderTimeout: time.Minute}
	go func() { _ = l.http.Serve(ln) }() // ends with close
	return l, nil
}

func (l *llm) close() { _ = l.http.Close() }

func (l *llm) answer(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength < 0 {
		http.Error(w, "the length is missing", http.StatusLengthRequired)
		return
	}
	wanted, done, err := l.read(r)
	if err != nil {
		return // the client has gone
	}
	if d := time.Duration(l.delay.Load()); d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
		case <-r.Context().Done():
			return
		}
	}
	n := l.calls.Add(1)
	message, reason := `{"role":"assistant","content":"done"}`, "stop"
	if done < wanted {
		reason = "tool_calls"
		message = fmt.Sprintf(`{"role":"assistant","content":null,"tool_calls":[{"id":"call_%d","type":"function","function":{"name":"terminal","arguments":"{\"command\":\"echo %d\"}"}}]}`, n, n)
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"id":"r%d","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"finish_reason":%q,"message":%s}],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}}`, n, reason, message)
}

// bodies are reused buffers for requests, so that this program takes less time
// from the server that runs beside it.
var bodies = sync.Pool{New: func() any { return new([]byte) }}

// read returns how many calls of a tool a request asks for, and how many it
// has had since the last message of the user.
func (l *llm) read(r *http.Request) (wanted, done int, err error) {
	buf := bodies.Get().(*[]byte)
	defer bodies.Put(buf)
	*buf = slices.Grow((*buf)[:0], int(r.ContentLength))[:r.ContentLength]
	body := *buf
	if _, err := io.ReadFull(r.Body, body); err != nil {
		return 0, 0, err
	}
	if i := bytes.Index(body, []byte("tools-")); i >= 0 && bytes.Contains(body, []byte(`"tools"`)) {
		wanted = int(body[i+len("tools-")] - '0')
	}
	since := body
	for _, form := range []string{`"role":"user"`, `"role": "user"`} {
		if i := bytes.LastIndex(body, []byte(form)); i >= 0 {
			since = body[i:]
			break
		}
	}
	done = bytes.Count(since, []byte(`"role":"tool"`)) + bytes.Count(since, []byte(`"role": "tool"`))
	return wanted, done, nil
}

// request asks for a conversation whose model makes so many calls.
func (l *llm) request(workspace string, tools int) string {
	return fmt.Sprintf(`{"autotitle":false,"agent":{"kind":"Agent","llm":{"model":"openai/tools-%d","base_url":%q,"api_key":"x","reasoning_effort":"none","usage_id":"agent"},`+
		`"tools":[{"name":"terminal","params":{}},{"name":"file_editor","params":{}},{"name":"task_tracker","params":{}}]},`+
		`"workspace":{"kind":"LocalWorkspace","working_dir":%q}}`, tools, l.url, workspace)
}
