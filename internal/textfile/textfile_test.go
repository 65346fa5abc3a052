package textfile_test

import (
	"io"
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/textfile"
)

func TestProse(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		in, want string
		binary   bool
	}{
		"UTF-8":                {in: "Grüße 😀", want: "Grüße 😀"},
		"byte order mark":      {in: "\xef\xbb\xbfa", want: "a"},
		"UTF-16":               {in: "\xff\xfea\x00\xfc\x00\x3d\xd8\x00\xde", want: "aü😀"},
		"UTF-16, other order":  {in: "\xfe\xff\x00a\x00\xfc", want: "aü"},
		"UTF-16, half":         {in: "\xff\xfea\x00\xfc", want: "a"},
		"Latin-1 beside UTF-8": {in: "Caf\xe9, Café", want: "Café, Café"},
		"Windows-1252":         {in: "\x93quoted\x94 \x80", want: "“quoted” €"},
		"binary":               {in: "\x7fELF\x00", binary: true},
		"nothing":              {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, ok := textfile.Prose([]byte(tt.in)); got != tt.want || ok == tt.binary {
				t.Errorf("%q, text %v; want %q", got, ok, tt.want)
			}
		})
	}
}

func TestDecode(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"\xef\xbb\xbf{}": "{}", "\xff\xfe{\x00}\x00": "{}", "\xe9": "\xe9", "": ""} {
		if got := string(textfile.Decode([]byte(in))); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestReader(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"\xef\xbb\xbf[]": "[]", "[]": "[]", "\xef": "\xef", "": ""} {
		got, err := io.ReadAll(textfile.Reader(strings.NewReader(in)))
		if err != nil || string(got) != want {
			t.Errorf("%q: got %q, %v; want %q", in, got, err, want)
		}
	}
}
