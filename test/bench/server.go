package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// bench is one measurement session.
type bench struct {
	bin, dir, python string
	http             *http.Server
	url              string

	mu      sync.Mutex
	calls   int             // tool calls to answer with before finish
	tasks   bool            // the calls give tasks to sub-agents, each of which finishes at once
	starts  []time.Duration // from the answers that give tasks to the requests of the sub-agents
	asked   int
	arrived []time.Time // of each request
	left    []time.Time // of the end of each answer
	fresh   chan time.Time
}

// server stands in for the LLM. It answers at once without reading the request,
// so that only Deft is measured.
func (b *bench) server(ctx context.Context) error {
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	b.url = "http://" + ln.Addr().String() + "/v1"
	b.fresh = make(chan time.Time, 1)
	b.http = &http.Server{Handler: http.HandlerFunc(b.answer), ReadHeaderTimeout: time.Minute}
	go func() { _ = b.http.Serve(ln) }() // ends with Close
	return nil
}

// script sets the server's answers to the next conversation: so many calls of the
// terminal, then finish.
func (b *bench) script(steps int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls, b.tasks, b.asked, b.arrived, b.left, b.starts = steps, false, 0, nil, nil, nil
	select {
	case <-b.fresh:
	default:
	}
}

func (b *bench) answer(w http.ResponseWriter, r *http.Request) {
	at := time.Now()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has gone
	}
	if !bytes.Contains(body, []byte(`"tools":`)) {
		summarize(w)
		return
	}
	b.mu.Lock()
	n := b.asked
	b.asked++
	b.arrived = append(b.arrived, at)
	subAgent := b.tasks && !bytes.Contains(body, []byte(`"name":"task"`))
	if subAgent {
		b.starts = append(b.starts, at.Sub(b.left[len(b.left)-1]))
	}
	name, args := "terminal", `{\"command\":\"true\"}`
	switch {
	case n >= b.calls || subAgent:
		name, args = "finish", `{\"message\":\"done\"}`
	case b.tasks:
		name, args = "task", fmt.Sprintf(`{\"prompt\":\"count part %d\"}`, n)
	case n%2 == 1:
		args = fmt.Sprintf(`{\"command\":\": %d\"}`, n) // no repetition that looks stuck
	}
	b.mu.Unlock()
	if n == 0 {
		b.fresh <- at
	}
	if !bytes.Contains(body, []byte(`"stream":true`)) { // the peer does not stream
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":"r%d","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":null,"tool_calls":[{"id":"call_%d","type":"function","function":{"name":"%s","arguments":"%s"}}]}}],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}}`, n, n, name, args)
		b.gone()
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprintf(w, `data: {"id":"r%d","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","tool_calls":[{"index":0,"id":"call_%d","type":"function","function":{"name":"%s","arguments":"%s"}}]},"finish_reason":null}]}

data: {"id":"r%d","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}}

data: [DONE]

`, n, n, name, args, n)
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
	b.gone()
}

// scriptTasks sets the server's answers to the next conversation: so many tasks for sub-agents,
// then finish.
func (b *bench) scriptTasks(tasks int) {
	b.script(2 * tasks) // a sub-agent asks once
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tasks = true
}

// summarize answers the condenser. That is not part of a step, but shows in the
// slowest ones because it happens between two steps.
func summarize(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprint(w, `{"id":"s","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"notes"}}],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}}`)
}

// gone records when an answer was sent.
func (b *bench) gone() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left = append(b.left, time.Now())
}

// gaps returns the times between an answer and the next request: a step
// without the LLM. The first ones, in which things warm up, are left out.
func (b *bench) gaps(skip int) []time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []time.Duration
	for i := skip; i+1 < len(b.arrived); i++ {
		out = append(out, b.arrived[i+1].Sub(b.left[i]))
	}
	return out
}
