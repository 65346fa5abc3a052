package bash

import "unicode/utf8"

// decoder turns a stream of bytes into UTF-8 text. Each maximal part that is
// not UTF-8 becomes one U+FFFD, as in the WHATWG Encoding Standard and as the
// reference's decoder does; a character cut in two by a read is put together.
type decoder struct {
	rest [utf8.UTFMax]byte
	n    int
}

const replacement = "\uFFFD"

// append decodes p to the end of dst.
func (d *decoder) append(dst, p []byte) []byte {
	for d.n > 0 && len(p) > 0 {
		if d.n < len(d.rest) && prefix(append(d.rest[:d.n:d.n], p[0])) {
			d.rest[d.n] = p[0]
			d.n++
			p = p[1:]
			if utf8.FullRune(d.rest[:d.n]) {
				dst = append(dst, d.rest[:d.n]...)
				d.n = 0
			}
			continue
		}
		dst = append(dst, replacement...)
		d.n = 0
	}
	for len(p) > 0 {
		n := valid(p)
		dst = append(dst, p[:n]...)
		if p = p[n:]; len(p) == 0 {
			break
		}
		bad := 1
		for bad < len(p) && prefix(p[:bad+1]) {
			bad++
		}
		if bad == len(p) && prefix(p) {
			d.n = copy(d.rest[:], p)
			break
		}
		dst = append(dst, replacement...)
		p = p[bad:]
	}
	return dst
}

// finish decodes what was cut off by the end.
func (d *decoder) finish(dst []byte) []byte {
	if d.n > 0 {
		dst = append(dst, replacement...)
		d.n = 0
	}
	return dst
}

// valid returns how many bytes at the start of p are UTF-8.
func valid(p []byte) int {
	for i := 0; i < len(p); {
		if p[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, size := utf8.DecodeRune(p[i:])
		if r == utf8.RuneError && size <= 1 {
			return i
		}
		i += size
	}
	return len(p)
}

// prefix reports whether b is the beginning of a character, or a whole one.
func prefix(b []byte) bool {
	if !utf8.FullRune(b) {
		return true
	}
	r, size := utf8.DecodeRune(b)
	return size == len(b) && (r != utf8.RuneError || size == 3)
}
