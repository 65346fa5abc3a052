package sqlite

import (
	"encoding/binary"

	"github.com/deft-dev/deft/event"
)

// Ids are stored in front of other bytes as a varint and what follows it: 0
// nothing, 1 a UUID of 16 bytes, n+2 n bytes of text.

func appendID(b []byte, id event.ID) []byte {
	if id == "" {
		return append(b, 0)
	}
	if u, ok := packUUID(string(id)); ok {
		return append(append(b, 1), u[:]...)
	}
	b = binary.AppendUvarint(b, uint64(len(id))+2)
	return append(b, id...)
}

func cutID(b []byte) (id event.ID, rest []byte, ok bool) {
	n, w := binary.Uvarint(b)
	if w <= 0 {
		return "", nil, false
	}
	b = b[w:]
	switch {
	case n == 0:
		return "", b, true
	case n == 1 && len(b) >= 16:
		return unpackUUID(b[:16]), b[16:], true
	case n >= 2 && n-2 <= uint64(len(b)):
		return event.ID(b[:n-2]), b[n-2:], true
	}
	return "", nil, false
}

const hexDigits = "0123456789abcdef"

// packUUID packs the lower-case dashed form only, because what it packs must
// come back as it was.
func packUUID(s string) (u [16]byte, ok bool) {
	if len(s) != 36 {
		return u, false
	}
	j := 0
	for i := range 36 {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if s[i] != '-' {
				return u, false
			}
			continue
		}
		var d byte
		switch c := s[i]; {
		case c >= '0' && c <= '9':
			d = c - '0'
		case c >= 'a' && c <= 'f':
			d = c - 'a' + 10
		default:
			return u, false
		}
		u[j/2] = u[j/2]<<4 | d
		j++
	}
	return u, true
}

func unpackUUID(u []byte) event.ID {
	var b [36]byte
	j := 0
	for i, x := range u {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			b[j] = '-'
			j++
		}
		b[j], b[j+1] = hexDigits[x>>4], hexDigits[x&15]
		j += 2
	}
	return event.ID(b[:])
}
