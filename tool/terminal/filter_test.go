package terminal

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// render runs chunks through a filter and returns all text.
func render(chunks ...string) string {
	var b bytes.Buffer
	f := newFilter(5, 40, func(p []byte, _ string) { b.Write(p) }, nil)
	for _, c := range chunks {
		f.write([]byte(c))
	}
	f.reset()
	f.flush()
	return b.String()
}

func TestFilter(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		chunks []string
		want   string
	}{
		{"plain", []string{"a\r\nb\r\n"}, "a\nb\n"},
		{"no newline at the end", []string{"a\r\nb"}, "a\nb"},
		{"bare newline", []string{"a\nb"}, "a\nb"},
		{"colour", []string{"\x1b[1;31mred\x1b[0m x"}, "red x"},
		{"colour split", []string{"\x1b", "[1;3", "1mred\x1b[", "0m"}, "red"},
		{"queries", []string{"a\x1b[6nb\x1b[cc\x1b]11;?\x07d\x1bP$qm\x1b\\e\x1b[>0qf"}, "abcdef"},
		{"title ended by ST", []string{"\x1b]0;title\x1b\\text"}, "text"},
		{"hyperlink", []string{"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\"}, "link"},
		{"osc ended by newline", []string{"\x1b]0;never ended\r\ntext"}, "\ntext"},
		{"charset", []string{"\x1b(B\x1b)0x"}, "x"},
		{"progress bar", []string{" 10%\r 50%\r100%\r\ndone"}, "100%\ndone"},
		{"shorter overwrite", []string{"abcdef\rxy"}, "xycdef"},
		{"overwrite and erase", []string{"abcdef\rxy\x1b[K"}, "xy"},
		{"double carriage return", []string{"a\r\r\n"}, "a\n"},
		{"unicode overwrite", []string{"äöü\rxyz"}, "xyz"},
		{"unicode by unicode", []string{"abc\rä€"}, "ä€c"},
		{"backspace", []string{"ab\b\x1b[Kc"}, "ac"},
		{"rub out", []string{"abc\b \b"}, "ab "},
		{"tab", []string{"a\tb"}, "a\tb"},
		{"cursor up", []string{"one\r\ntwo\r\n\x1b[2A\x1b[KONE\r\n\x1b[KTWO\r\n"}, "ONE\nTWO\n"},
		{"cursor up too far", []string{"x\x1b[99A\ry"}, "y"},
		{"column", []string{"abc\x1b[2GX\x1b[6GY"}, "aXc  Y"},
		{"insert and delete", []string{"abc\r\x1b[2@XY\x1b[P"}, "XYbc"},
		{"erase characters", []string{"abc\r\x1b[2X"}, "  c"},
		{"erase to start", []string{"abcd\b\b\x1b[1K"}, "  cd"},
		{"clear keeps what was said", []string{"a\r\n\x1b[H\x1b[2J\x1b[3Jb"}, "a\nb"},
		{"home, far away and back", []string{"\x1b[5;1H\x1b[Ha\x1b[2Jb"}, "a\nb"},
		{"a very long line", []string{strings.Repeat("x", 10000) + "\r\ny"}, strings.Repeat("x", 10000) + "\ny"},
		{"scrolls", []string{"1\n2\n3\n4\n5\n6\n7\n"}, "1\n2\n3\n4\n5\n6\n7\n"},
		{"nul", []string{"a\x00b"}, "ab"},
		{"bell", []string{"a\ab"}, "ab"},
		{"invalid", []string{"a\xffb"}, "a\uFFFDb"},
		{"split character", []string{"a\xe2", "\x82", "\xacb"}, "a€b"},
		{"cut character", []string{"a\xe2\x82"}, "a\uFFFD\uFFFD"},
		{"cut character, then text", []string{"a\xe2", "b"}, "a\uFFFDb"},
		{"c1", []string{"a\u0085b\u009b1mc"}, "ab1mc"},
		{"alternate screen", []string{"a\x1b[?1049h\x1b[2;3Hscreen\x1b[?1049lb"}, "ab"},
		{"bracketed paste", []string{"\x1b[?2004h>>> \x1b[?2004l"}, ">>> "},
		{"cancelled", []string{"\x1b[12\x18x"}, "x"},
		{"control inside", []string{"ab\x1b[\r1mc"}, "cb"},
		{"many parameters", []string{"\x1b[" + strings.Repeat("1;", 99) + "mx"}, "x"},
		{"huge number", []string{"\x1b[99999999999999999999Cx"}, strings.Repeat(" ", maxPad) + "x"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, render(tt.chunks...)); diff != "" {
				t.Error("text differs (-want +got):\n", diff)
			}
		})
	}
}

func TestFilterScreen(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, in, want string }{
		{"positions", "\x1b[2;3Hb\x1b[1;1Ha\x1b[4;1Hd", "a\n  b\n\nd\n"},
		{"wraps", strings.Repeat("x", 41), strings.Repeat("x", 40) + "\nx\n"},
		{"scrolls", "1\r\n2\r\n3\r\n4\r\n5\r\n6", "2\n3\n4\n5\n6\n"},
		{"region", "1\r\n2\r\n3\r\n4\r\n5\x1b[2;4r\x1b[4;1H\n", "1\n3\n4\n\n5\n"},
		{"reverse", "1\r\n2\x1b[H\x1bM0", "0\n1\n2\n"},
		{"lines", "1\r\n2\r\n3\x1b[2;1H\x1b[Lx\x1b[4;1H\x1b[M", "1\nx\n2\n"},
		{"erase", "abc\r\ndef\x1b[1;2H\x1b[J", "a\n"},
		{"erase line", "abc\x1b[2K", ""},
		{"insert delete", "abc\r\x1b[@\x1b[3G\x1b[P", " ac\n"},
		{"save", "a\x1b7\r\nb\x1b8c", "ac\nb\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFilter(5, 40, func([]byte, string) {}, nil)
			f.write([]byte("\x1b[?1049h" + tt.in))
			got, ok := f.screen()
			if !ok {
				t.Fatal("no screen")
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error("screen differs (-want +got):\n", diff)
			}
		})
	}
}

// FuzzFilter checks that any output becomes valid text of bounded size, and
// that it does not matter where the output was cut.
func FuzzFilter(f *testing.F) {
	for _, s := range []string{
		"a\r\nb", "\x1b[31mx\x1b[0m", "\x1b[?1049h\x1b[5;5Hx\x1b[L\x1b[3;1r\x1bM", "10%\r20%\r\n",
		"ä\xe2\x82", "\x1b[5A\x1b[2K\x1b[1J", "\x1b]0;t\x07\x1bPq\x1b\\", "\x1b[9999C\x1b[@\x1b[P\x1b[X\x1b[1K",
		"\x1b[?1049h" + strings.Repeat("w", 50) + "\x1b[@\x1b[P\x1b[X\x1b[K",
	} {
		f.Add([]byte(s), 3)
	}
	f.Fuzz(func(t *testing.T, b []byte, cut int) {
		cut = min(max(cut, 0), len(b))
		whole := render(string(b))
		if !utf8.ValidString(whole) || strings.ContainsAny(whole, "\x00\x1b\r\b") {
			t.Errorf("not clean text: %q", whole)
		}
		if parts := render(string(b[:cut]), string(b[cut:])); parts != whole {
			t.Errorf("cut at %d: %q, whole: %q", cut, parts, whole)
		}
	})
}

// TestLive keeps colours for a live view, and nothing else.
func TestLive(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, in, want string }{
		{"colours", "\x1b[1;31mred\x1b[m\r\n", "\x1b[1;31mred\x1b[0m\r\n"},
		{"of a palette", "\x1b[38;5;9mx", "\x1b[38;5;9mx"},
		{"cursor and title", "\x1b]0;t\x07a\x1b[2K\x1b[1A\x1b[?25lb\x1b[6n", "ab"},
		{"the first column", "\u2819\x1b[1G\x1b[0Kdone\x1b[5Gx\x1b[G\n", "\u2819\rdonex\r\n"},
		{"hidden", "\x1b[8mx\x1b[5my", "xy"},
		{"colons", "\x1b[4:3mx\x1b[4mx", "x\x1b[4mx"},
		{"of a full screen", "a\x1b[?1049h\x1b[31mx\x1b[?1049l\x1b[32mb", "a\x1b[32mb"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var live strings.Builder
			f := newFilter(5, 40, func([]byte, string) {}, func(p []byte) { live.Write(p) })
			for i := range len(tt.in) {
				f.write([]byte(tt.in[i : i+1]))
			}
			if live.String() != tt.want {
				t.Errorf("got %q, want %q", live.String(), tt.want)
			}
		})
	}
}
