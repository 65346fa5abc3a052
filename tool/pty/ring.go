package pty

// ring keeps the last limit bytes of its input. The byte of offset n is at n %
// limit. It grows to its limit as needed.
type ring struct {
	limit int
	buf   []byte
	end   int64 // bytes written so far
}

// start is the offset of the oldest byte that is kept.
func (r *ring) start() int64 { return r.end - int64(len(r.buf)) }

// add appends b and drops the oldest bytes.
func (r *ring) add(b []byte) {
	for len(b) > 0 {
		var n int
		if free := r.limit - len(r.buf); free > 0 {
			n = min(len(b), free)
			r.buf = append(r.buf, b[:n]...)
		} else {
			n = copy(r.buf[r.end%int64(r.limit):], b)
		}
		r.end += int64(n)
		b = b[n:]
	}
}

// copy copies bytes from offset on, which is kept, and returns how many.
func (r *ring) copy(out []byte, offset int64) int {
	out = out[:min(int64(len(out)), r.end-offset)]
	n := copy(out, r.buf[offset%int64(r.limit):])
	return n + copy(out[n:], r.buf)
}
