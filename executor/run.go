package executor

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/secret"
	"github.com/deft-dev/deft/tool"
)

// tailSize is how much of the output is kept for requests that join later.
const tailSize = 16 << 10

// run is an action that is being executed.
type run struct {
	cancel context.CancelCauseFunc
	done   chan struct{} // closed when result is set
	result result

	mu        sync.Mutex // held while chunks are passed on, so that no chunk comes after unfollowing
	followers map[int]func(tool.Chunk)
	next      int
	tail      []byte
}

func newRun(cancel context.CancelCauseFunc) *run {
	return &run{cancel: cancel, done: make(chan struct{}), followers: map[int]func(tool.Chunk){}}
}

// follow passes the run's further output to the request's Progress until the
// returned func is called.
func (r *run) follow(q tool.Request) (unfollow func()) {
	if q.Progress == nil {
		return func() {}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if q.Tail && len(r.tail) > 0 {
		q.Progress(tool.Chunk{Text: strings.ToValidUTF8(string(r.tail), "")})
	}
	key := r.next
	r.next++
	r.followers[key] = q.Progress
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.followers, key)
	}
}

// progress is called by the tool.
func (r *run) progress(c tool.Chunk) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range r.followers {
		f(c)
	}
	text := c.Text
	if len(text) > tailSize {
		text = text[len(text)-tailSize:]
	}
	if over := len(r.tail) + len(text) - tailSize; over > 0 {
		r.tail = r.tail[:copy(r.tail, r.tail[over:])]
	}
	r.tail = append(r.tail, text...)
}

func (r *run) finish(res result) {
	r.result = res
	close(r.done)
}

// execute calls the tool, turns the outcome into a result without the secrets that
// are given, and passes that to finish, also if the tool panics or calls
// runtime.Goexit.
func (r *run) execute(ctx context.Context, t tool.Executor, c tool.Call, given *secret.Registry, finish func(result)) {
	res := failed(fault.New(fault.Internal, "the tool ended its goroutine without a result"), nil)
	defer func() { finish(res) }()
	defer func() {
		if v := recover(); v != nil {
			res = failed(fault.New(fault.Internal, fmt.Sprintf("the tool panicked at %s: %v", panicSite(), v)), given)
		}
	}()
	obs, err := t.Execute(ctx, c)
	res = resultOf(obs, err, given)
}

// resultOf encodes a tool's result.
func resultOf(obs event.Observation, err error, given *secret.Registry) result {
	switch {
	case err != nil:
		return failed(err, given)
	case obs == nil:
		return failed(fault.New(fault.Internal, "the tool returned neither an observation nor an error"), nil)
	}
	return masked(obs, given)
}

// panicSite returns file and line of the function that panicked; it is called
// from the deferred function that recovers.
func panicSite() string {
	var pcs [32]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	panicking := false
	for {
		f, more := frames.Next()
		switch {
		case f.Function == "runtime.gopanic":
			panicking = true
		case panicking && !strings.HasPrefix(f.Function, "runtime."):
			return fmt.Sprintf("%s:%d", f.File[strings.LastIndexByte(f.File, '/')+1:], f.Line)
		}
		if !more {
			return "an unknown location"
		}
	}
}
