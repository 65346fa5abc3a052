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
	errEmpty = errors.New("the answer stalled: the server only kept the connection alive")
)

// Watch enforces the time limits of one call. Its context ends with the
// caller's, or when a limit is reached, which closes the connection.
type Watch struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	total  *time.Timer
	gap    *time.Timer
	empty  *time.Timer // since there was content
	chunk  time.Duration
	begun  bool
	counts bool // content is reported: chunks without are limited
}

// emptyGaps is for how many gaps between chunks an answer may consist of chunks
// without content, such as those that keep the connection alive.
const emptyGaps = 4

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
	if w.counts {
		w.empty = time.AfterFunc(emptyGaps*w.chunk, func() { w.cancel(errEmpty) })
	}
}

// content reports that a chunk had content.
func (w *Watch) content() {
	if w.empty != nil {
		w.empty.Reset(emptyGaps * w.chunk)
	}
}

// Stop stops the timers and ends the context.
func (w *Watch) Stop() {
	w.total.Stop()
	if w.gap != nil {
		w.gap.Stop()
	}
	if w.empty != nil {
		w.empty.Stop()
	}
	w.cancel(context.Canceled)
}
