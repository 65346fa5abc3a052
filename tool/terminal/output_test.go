package terminal

import (
	"os"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestCapture checks that head and tail are the right characters, whatever
// pieces the text comes in.
func TestCapture(t *testing.T) {
	t.Parallel()
	full := strings.Repeat("aé€😀\n", 3000)
	for _, limit := range []int{1, 2, 7, 100, 14_999, 15_000, 20_000} {
		for _, piece := range []int{1, 3, 64, 5000, len(full)} {
			c := newCapture(limit, t.TempDir(), 1<<20)
			for rest := full; rest != ""; {
				n := runeOffset([]byte(rest), piece)
				c.add([]byte(rest[:n]))
				rest = rest[n:]
			}
			got := c.finish()
			if limit >= utf8.RuneCountInString(full) {
				if got.text != full || got.file != "" {
					t.Errorf("limit %d, piece %d: changed, file %q", limit, piece, got.file)
				}
				continue
			}
			runes := []rune(full)
			head, tail := string(runes[:limit/2]), string(runes[len(runes)-(limit-limit/2):])
			if !strings.HasPrefix(got.text, head+"\n[…") || !strings.HasSuffix(got.text, "…]\n"+tail) {
				t.Errorf("limit %d, piece %d: %.300q", limit, piece, got.text)
			}
			saved, err := os.ReadFile(got.file)
			if err != nil || string(saved) != full {
				t.Errorf("limit %d, piece %d: %d bytes saved of %d, %v", limit, piece, len(saved), len(full), err)
			}
		}
	}
}

func TestProgressIsBounded(t *testing.T) {
	t.Parallel()
	var p progress
	for range 10_000 {
		p.add([]byte("0123456789"))
	}
	p.add([]byte("end"))
	got := p.take()
	if len(got) > progressMax+100 || !strings.HasSuffix(got, "89end") || !strings.Contains(got, "skipped") {
		t.Errorf("%d bytes: %.60q…", len(got), got)
	}
	if cap(p.buf) > 4*progressMax {
		t.Errorf("keeps %d bytes", cap(p.buf))
	}
	if got := p.take(); got != "" {
		t.Errorf("again: %q", got)
	}
	p.add([]byte("x"))
	if got := p.take(); got != "x" {
		t.Errorf("then %q", got)
	}
}
