package pieces_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/internal/pieces"
)

// TestText joins pieces that end inside a character.
func TestText(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		pieces []string // JSON strings
		out    []string // handed out
		whole  string
	}{
		"plain":                {[]string{`"a"`, `"\n\"ü\u00e9"`}, []string{"a", "\n\"üé"}, "a\n\"üé"},
		"two escapes":          {[]string{`"x\ud83d"`, `"\ude00y"`}, []string{"x", "😀y"}, "x😀y"},
		"with an empty piece":  {[]string{`"\ud83d"`, `""`, `"\ude00"`}, []string{"", "", "😀"}, "😀"},
		"pair in one":          {[]string{`"\ud83d\ude00"`}, []string{"😀"}, "😀"},
		"half before a letter": {[]string{`"A\ud99cB"`}, []string{"A\uFFFDB"}, "A\uFFFDB"},
		"half at the end":      {[]string{`"A\ud99c"`}, []string{"A"}, "A\uFFFD"},
		"half before another":  {[]string{`"\ud83d"`, `"\ud83d"`, `"\ude00"`}, []string{"", "\uFFFD", "😀"}, "\uFFFD😀"},
		"second half first":    {[]string{`"\ude00"`, `"a"`}, []string{"\uFFFD", "a"}, "\uFFFDa"},
		"bytes":                {[]string{"\"\xf0\x9f\"", "\"\x98\x80!\""}, []string{"", "😀!"}, "😀!"},
		"one byte each":        {[]string{"\"\xc3\"", "\"\xbc\""}, []string{"", "ü"}, "ü"},
		"no UTF-8":             {[]string{"\"a\xffb\""}, []string{"a\uFFFDb"}, "a\uFFFDb"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var text pieces.Text
			var out []string
			for _, raw := range tt.pieces {
				var piece pieces.Piece
				must.Succeed(t, json.Unmarshal([]byte(raw), &piece))
				out = append(out, text.Add(string(piece)))
			}
			if got := text.String(); got != tt.whole || strings.Join(out, "|") != strings.Join(tt.out, "|") {
				t.Errorf("got %q in %q, want %q in %q", got, out, tt.whole, tt.out)
			}
		})
	}
}

// FuzzPiece compares pieces without halves with encoding/json.
func FuzzPiece(f *testing.F) {
	for _, s := range []string{`"a\u00e9\ud83d\ude00\n\\"`, `"\u005cu"`, `"\/"`, `null`, `"\ud83d"`, `3`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		var want string
		var got pieces.Piece
		wrong, err := json.Unmarshal([]byte(raw), &want), json.Unmarshal([]byte(raw), &got)
		if (err == nil) != (wrong == nil) {
			t.Fatalf("errors %v and %v", err, wrong)
		}
		if strings.Contains(want, "\uFFFD") {
			return
		}
		if string(got) != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}
