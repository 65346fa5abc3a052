package llmtest

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/deft-dev/deft/fault"
)

// maxErrors is the maximum number of errors kept.
const maxErrors = 1000

// recorder keeps the latest requests and the first errors.
type recorder struct {
	maxCount, maxBytes int

	mu      sync.Mutex
	total   int // requests seen
	kept    []*Request
	bytes   int // of the bodies of kept
	errs    []error
	waiting map[int][]chan *Request
}

func newRecorder(o Options) *recorder {
	return &recorder{maxCount: o.MaxRecorded, maxBytes: o.MaxRecordedBytes, waiting: make(map[int][]chan *Request)}
}

// add numbers and keeps a request, and wakes the callers that wait for it.
func (r *recorder) add(req *Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.total++
	req.N = r.total
	for _, ch := range r.waiting[req.N] {
		ch <- req // buffered for one
	}
	delete(r.waiting, req.N)
	if r.maxCount < 0 {
		return
	}
	r.kept = append(r.kept, req)
	r.bytes += len(req.Body)
	for len(r.kept) > r.maxCount || r.bytes > r.maxBytes && len(r.kept) > 1 {
		r.bytes -= len(r.kept[0].Body)
		r.kept[0] = nil // append moves the slice; release the request now
		r.kept = r.kept[1:]
	}
}

func (r *recorder) all() []*Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.kept)
}

func (r *recorder) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.total
}

func (r *recorder) wait(ctx context.Context, n int) (*Request, error) {
	r.mu.Lock()
	if n <= r.total {
		defer r.mu.Unlock()
		if i := len(r.kept) - 1 - (r.total - n); i >= 0 && n > 0 {
			return r.kept[i], nil
		}
		return nil, fault.New(fault.NotFound, fmt.Sprintf("request %d is not kept", n))
	}
	ch := make(chan *Request, 1)
	r.waiting[n] = append(r.waiting[n], ch)
	r.mu.Unlock()
	select {
	case req := <-ch:
		return req, nil
	case <-ctx.Done():
		r.forget(n, ch)
		return nil, fmt.Errorf("wait for request %d: %w", n, context.Cause(ctx))
	}
}

func (r *recorder) forget(n int, ch chan *Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	left := slices.DeleteFunc(r.waiting[n], func(c chan *Request) bool { return c == ch })
	if len(left) == 0 {
		delete(r.waiting, n)
		return
	}
	r.waiting[n] = left
}

func (r *recorder) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.errs) < maxErrors {
		r.errs = append(r.errs, err)
	}
}

func (r *recorder) errors() []error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.errs)
}
