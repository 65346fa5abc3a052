package exchange

import (
	"context"
	"errors"
	"time"
)

// The causes of the end of a watch's context.
var (
	errTotal = errors.New("the whole answer took too long")
	errFirst = errors.New("no answer began in time")
	errChunk = errors.New("the answer stalled")
)

// Watch enforces the time limits of one call. Its context ends with the
// caller's, or when a limit is reached, which closes the connection.
type Watch struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	total  *time.Timer
	gap    *time.Timer
	chunk  time.Duration
	begun  bool
}

// Watch starts the timers of a call whose answer is streamed. Once it has begun,
// only the gaps between chunks are limited: a long answer that was cut would be paid
// for again.
func (e *Endpoint) Watch(ctx context.Context) *Watch {
	c, cancel := context.WithCancelCause(ctx)
	w := &Watch{ctx: c, cancel: cancel, chunk: e.chunk}
	w.total = time.AfterFunc(e.total, func() { cancel(errFirst) }) // stopped when the answer begins
	w.gap = time.AfterFunc(e.first, func() { cancel(errFirst) })
	return w
}

// WatchWhole starts the timer of a call whose answer comes in one piece: only
// the total time is limited.
func (e *Endpoint) WatchWhole(ctx context.Context) *Watch {
	c, cancel := context.WithCancelCause(ctx)
	w := &Watch{ctx: c, cancel: cancel}
	w.total = time.AfterFunc(e.total, func() { cancel(errTotal) })
	return w
}

// Context is the context to make the request with.
func (w *Watch) Context() context.Context { return w.ctx }

// Progress reports that a chunk arrived.
func (w *Watch) Progress() {
	if w.gap == nil {
		return
	}
	if w.begun {
		w.gap.Reset(w.chunk)
		return
	}
	w.begun = true
	w.total.Stop()
	w.gap.Stop()
	w.gap = time.AfterFunc(w.chunk, func() { w.cancel(errChunk) })
}

// Stop stops the timers and ends the context.
func (w *Watch) Stop() {
	w.total.Stop()
	if w.gap != nil {
		w.gap.Stop()
	}
	w.cancel(context.Canceled)
}
