package terminal

import (
	"strings"
	"testing"
)

func TestInputBytes(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"C-c": "\x03", "c-C": "\x03", "C-d": "\x04", "C-z": "\x1a", "C-a": "\x01", "C-L": "\x0c", "Ctrl+C": "\x03", "^C": "\x03",
		"UP": "\x1b[A", "PGDN": "\x1b[6~", "ENTER": "\r", "TAB": "\t", "ESC": "\x1b", "BS": "\x7f", `C-\`: "\x1c", " C-c ": "\x03",
		"up": "up\r", "yes": "yes\r", "yes\n": "yes\r", "a\r\nb": "a\nb\r", "C-": "C-\r", "C-cc": "C-cc\r", "": "\r", "C-1": "C-1\r",
	} {
		if got := inputBytes(in); got != want {
			t.Errorf("%q is sent as %q, want %q", in, got, want)
		}
	}
}

func FuzzKeys(f *testing.F) {
	for _, s := range []string{"C-c", "UP", "ctrl+x", "^[", "text\n", "C-\u0130", "C-ı"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		b, ok := keyBytes(s)
		if ok && (b == "" || len(b) > 5) {
			t.Errorf("%q is a key of %d bytes", s, len(b))
		}
		if got := inputBytes(s); !ok && !strings.HasSuffix(got, "\r") {
			t.Errorf("%q is sent as %q", s, got)
		}
	})
}

// FuzzMarker checks that cutting at markers loses no byte and finds the
// marker wherever the reads end.
func FuzzMarker(f *testing.F) {
	m := markerFor(newNonce())
	f.Add([]byte("text"+m+"more"), 7)
	f.Add([]byte(m[:20]+m), 20)
	f.Add([]byte("\x1b_DEFT\x1b_DEFTX"), 3)
	f.Fuzz(func(t *testing.T, b []byte, cut int) {
		cut = min(max(cut, 0), len(b))
		text, nonces := cutAll(b)
		text2, nonces2 := cutAll(b[:cut], b[cut:])
		if text != text2 || nonces != nonces2 {
			t.Errorf("whole: %q %q; cut at %d: %q %q", text, nonces, cut, text2, nonces2)
		}
		if n := len(nonces) / 32 * markerLen; len(text)+n != len(b) {
			t.Errorf("%d bytes of text and %d of markers, of %d", len(text), n, len(b))
		}
	})
}

// cutAll does the work of the session's reader.
func cutAll(reads ...[]byte) (text, nonces string) {
	var held []byte
	for _, p := range reads {
		p = append(held, p...)
		for {
			out, nonce, rest := splitMarker(p)
			text += string(out)
			nonces += nonce
			if nonce == "" {
				held = append([]byte(nil), rest...)
				break
			}
			p = rest
		}
	}
	return text + string(held), nonces
}
