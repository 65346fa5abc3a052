package terminal

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
)

// A marker is a short text that the shell, or this package after the shell's
// end, writes to the terminal behind the last byte of a command's output. Its
// body is random and secret until it is written, so output cannot forge it.
// Capitals and digits survive every terminal mode.
const (
	markerHead = "\x1b_DEFT"
	markerTail = "\x1b\\"
	markerLen  = len(markerHead) + 32 + len(markerTail)
)

// newNonce returns 32 random capital hex digits.
func newNonce() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return string(bytes.ToUpper([]byte(hex.EncodeToString(b[:]))))
}

func markerFor(nonce string) string { return markerHead + nonce + markerTail }

// splitMarker cuts data at the first thing that has the form of a marker. text is
// the part before it; nonce is empty when there is none. rest has to be examined
// again: the data behind the marker, or, without one, a tail that may be the
// beginning of a marker (shorter than markerLen).
func splitMarker(data []byte) (text []byte, nonce string, rest []byte) {
	from := 0
	for {
		i := bytes.IndexByte(data[from:], 0x1b)
		if i < 0 {
			return data, "", nil
		}
		i += from
		tail := data[i:]
		if len(tail) < markerLen {
			if isMarkerPrefix(tail) {
				return data[:i], "", tail
			}
		} else if isMarkerPrefix(tail[:markerLen]) {
			nonce := string(tail[len(markerHead) : len(markerHead)+32])
			return data[:i], nonce, tail[markerLen:]
		}
		from = i + 1
	}
}

// isMarkerPrefix reports whether b, of at most markerLen bytes, is how a
// marker begins.
func isMarkerPrefix(b []byte) bool {
	for i, c := range b {
		switch {
		case i < len(markerHead):
			if c != markerHead[i] {
				return false
			}
		case i < len(markerHead)+32:
			if (c < '0' || c > '9') && (c < 'A' || c > 'F') {
				return false
			}
		case c != markerTail[i-len(markerHead)-32]:
			return false
		}
	}
	return true
}
