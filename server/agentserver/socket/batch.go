package socket

import (
	"net"
	"strconv"
	"sync"
)

// batch gathers frames, so that many go out in one write. A large payload is
// not copied: it ends the batch.
type batch struct {
	buf   []byte
	large []byte // the payload that follows buf
	end   string // and the records after it
}

const (
	batchSize = 32 << 10
	largeSize = 8 << 10
)

var batches = sync.Pool{New: func() any { return &batch{buf: make([]byte, 0, batchSize)} }}

func newBatch() *batch { return batches.Get().(*batch) }

func (b *batch) free() {
	b.reset()
	batches.Put(b)
}

func (b *batch) reset() { b.buf, b.large, b.end = b.buf[:0], nil, "" }

// hasSpace reports whether one more frame may be added.
func (b *batch) hasSpace() bool {
	return b.large == nil && len(b.buf) < batchSize-largeSize-200
}

func (b *batch) empty() bool { return len(b.buf) == 0 }

// text adds a frame of some bytes.
func (b *batch) text(p []byte) {
	b.buf = header(b.buf, len(p))
	b.payload(p, "")
}

func (b *batch) payload(p []byte, end string) {
	if len(p) > largeSize {
		b.large, b.end = p, end
		return
	}
	b.buf = append(append(b.buf, p...), end...)
}

const (
	durableStart = `{"type":"durable","seq":`
	durableEvent = `,"event":`
	durableEnd   = `}`
)

// durable adds the session frame of a stored event and returns its size. A
// frame of more than limit bytes is not added.
func (b *batch) durable(seq int64, event []byte, limit int) (size int, ok bool) {
	var digits [20]byte
	no := strconv.AppendInt(digits[:0], seq, 10)
	size = len(durableStart) + len(no) + len(durableEvent) + len(event) + len(durableEnd)
	if size > limit {
		return size, false
	}
	b.buf = header(b.buf, size)
	b.buf = append(append(append(b.buf, durableStart...), no...), durableEvent...)
	b.payload(event, durableEnd)
	return size, true
}

// pieces returns the frames to write.
func (b *batch) pieces() net.Buffers {
	if b.large == nil {
		return net.Buffers{b.buf}
	}
	return net.Buffers{b.buf, b.large, []byte(b.end)}
}

// send writes the batch.
func (b *batch) send(l *link) error { return l.send(b.pieces()) }
