package styledmask_test

import (
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/sgr"
	"github.com/deft-dev/deft/secret"
	"github.com/deft-dev/deft/session/internal/styledmask"
)

// TestStyledMask masks a text with colours, whole and byte by byte.
func TestStyledMask(t *testing.T) {
	t.Parallel()
	const red, off = "\x1b[31m", "\x1b[0m"
	for _, tt := range []struct{ name, in, want string }{
		{"colours", red + "red" + off + " text", red + "red" + off + " text"},
		{"a secret", "a hunter2-sesame b", "a <secret-hidden> b"},
		{"coloured", red + "hunter2-sesame" + off + "!", red + "<secret-hidden>" + off + "!"},
		{"a part is coloured", "x" + red + "hunter2" + off + "-sesame.", "x" + red + "<secret-hidden>" + off + "."},
		{"each character is", strings.Join(strings.Split("hunter2-sesame", ""), red) + "x", "<secret-hidden>" + strings.Repeat(red, 13) + "x"},
		{"other sequences", "hun\x1b[2Kter2\x1b]-sesame", "hunter2]-sesame"},
		{"erases", "hunter2\x1b[K-sesame\x1b[1A", "<secret-hidden>"},
		{"no secret after all", "hun" + red + "dred", "hund" + red + "red"},
		{"the end", "ends with hun" + red, "ends with hun" + red},
		{"an open sequence", "text\x1b[3", "text"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := secret.NewRegistry(secret.Options{})
			r.Set(secret.Named{Name: "TOKEN", Source: secret.Static("hunter2-sesame", "")})
			m := styledmask.New(r.Stream())
			if got := m.Feed(tt.in) + m.Flush(); got != tt.want {
				t.Errorf("whole: %q, want %q", got, tt.want)
			}
			var got strings.Builder
			for i := range len(tt.in) {
				piece := m.Feed(tt.in[i : i+1])
				if left, open := strings.CutSuffix(piece, "\x1b"); open {
					t.Errorf("%q ends within a sequence", left)
				}
				got.WriteString(piece)
			}
			got.WriteString(m.Flush())
			if got.String() != tt.want {
				t.Errorf("in pieces: %q, want %q", got.String(), tt.want)
			}
			if strings.Contains(sgr.Strip(got.String()), "hunter2-sesame") {
				t.Error("the secret is shown")
			}
		})
	}
}
