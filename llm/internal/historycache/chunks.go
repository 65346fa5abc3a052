package historycache

import (
	"slices"

	"github.com/deft-dev/deft/event"
)

// chunkSize is the approximate size of a chunk of a long history in bytes:
// small enough to copy the last one for each call.
const chunkSize = 32 << 10

// text is a long text in chunks. Bodies under way share them, so written bytes
// never change: a chunk grows only at its end, and truncating one copies the
// rest.
type text struct {
	chunks [][]byte
	size   int // of all chunks together
	total  int // capacity of all chunks
}

// begin returns the chunk to append the first of msgs to; done takes it back.
// The other messages determine the capacity of a new chunk.
func (t *text) begin(msgs []event.Message) []byte {
	last := len(t.chunks) - 1
	need := encodedSize(&msgs[0])
	if last >= 0 && len(t.chunks[last]) < chunkSize && len(t.chunks[last])+need <= cap(t.chunks[last]) {
		return t.chunks[last]
	}
	for i := 1; i < len(msgs) && need < chunkSize; i++ {
		need += encodedSize(&msgs[i])
	}
	if last >= 0 && len(t.chunks[last]) < chunkSize/2 {
		grown := slices.Grow(t.chunks[last], need)
		t.replace(last, grown)
		return grown
	}
	t.chunks = append(t.chunks, make([]byte, 0, need))
	t.total += need
	return t.chunks[last+1]
}

// done stores the extended latest chunk.
func (t *text) done(chunk []byte) {
	last := len(t.chunks) - 1
	t.size += len(chunk) - len(t.chunks[last])
	t.replace(last, chunk)
}

func (t *text) replace(i int, chunk []byte) {
	t.total += cap(chunk) - cap(t.chunks[i])
	t.chunks[i] = chunk
}

// cut keeps the first size bytes.
func (t *text) cut(size int) {
	for t.size > size {
		last := len(t.chunks) - 1
		chunk := t.chunks[last]
		if over := t.size - size; over < len(chunk) {
			t.chunks[last] = append(make([]byte, 0, cap(chunk)), chunk[:len(chunk)-over]...)
			t.size = size
			return
		}
		t.size -= len(chunk)
		t.total -= cap(chunk)
		t.chunks[last] = nil
		t.chunks = t.chunks[:last]
	}
}

// parts returns the chunks, with an empty part before them and capacity for one
// part after them.
func (t *text) parts() [][]byte {
	body := make([][]byte, 1, len(t.chunks)+2)
	for _, c := range t.chunks {
		body = append(body, c[:len(c):len(c)])
	}
	return body
}

// held is the memory of the text in bytes.
func (t *text) held() int { return t.total }

// encodedSize estimates the size of an encoded message in bytes.
func encodedSize(m *event.Message) int {
	n := 128 + len(m.ReasoningContent)
	for k := range m.Content {
		c := &m.Content[k]
		n += 32 + len(c.Text) + len(c.Text)/8
		for _, u := range c.ImageURLs {
			n += 64 + len(u)
		}
	}
	for k := range m.ToolCalls {
		n += 96 + len(m.ToolCalls[k].Arguments)*5/4
	}
	for k := range m.ThinkingBlocks {
		b := &m.ThinkingBlocks[k]
		n += 64 + len(b.Thinking)*17/16 + len(b.Signature) + len(b.Data)
	}
	return n
}
