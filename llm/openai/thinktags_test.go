package openai

import (
	"strings"
	"testing"
)

func split(pieces ...string) (reasoning, text string) {
	var s thinkTags
	for _, p := range pieces {
		a, b := s.feed(p)
		reasoning, text = reasoning+a, text+b
	}
	a, b := s.flush()
	return reasoning + a, text + b
}

func TestThinkTags(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][2]string{
		"":                                    {"", ""},
		"plain":                               {"", "plain"},
		"<think>a</think>b":                   {"a", "b"},
		"\n <think>\na\n</think>\n\nb\nc":     {"\na\n", "b\nc"},
		"<think>a</thin</think>b":             {"a</thin", "b"},
		"<think>cut off":                      {"cut off", ""},
		"<think>cut off</thi":                 {"cut off</thi", ""},
		"<thi":                                {"", "<thi"},
		"<thinking>x":                         {"", "<thinking>x"},
		"say <think>a</think>":                {"", "say <think>a</think>"},
		"<think></think>x":                    {"", "x"},
		"<think>a</think>b<think>c</think>":   {"a", "b<think>c</think>"},
		" \n":                                 {"", " \n"},
		strings.Repeat(" ", 100) + "<think>a": {"a", ""},
	} {
		if reasoning, text := split(in); reasoning != want[0] || text != want[1] {
			t.Errorf("%q at once: %q and %q, want %q", in, reasoning, text, want)
		}
		if len(in) > 64 {
			continue // so much space in pieces is text
		}
		if reasoning, text := split(strings.Split(in, "")...); reasoning != want[0] || text != want[1] {
			t.Errorf("%q by bytes: %q and %q, want %q", in, reasoning, text, want)
		}
	}
}

// FuzzThinkTags splits a text: the position makes no difference, and only tags
// and line ends are removed.
func FuzzThinkTags(f *testing.F) {
	f.Add("<think>a</think>\nb", 9)
	f.Add(" <think>a</thi", 3)
	f.Fuzz(func(t *testing.T, in string, at int) {
		if len(in) > 60 {
			in = in[:60]
		}
		at = max(0, min(at, len(in)))
		wholeThought, wholeText := split(in)
		reasoning, text := split(in[:at], in[at:])
		if reasoning != wholeThought || text != wholeText {
			t.Errorf("%q cut at %d: %q and %q, at once %q and %q", in, at, reasoning, text, wholeThought, wholeText)
		}
		if len(reasoning)+len(text) > len(in) || !strings.Contains(in, reasoning) || !strings.HasSuffix(in, text) {
			t.Errorf("%q became %q and %q", in, reasoning, text)
		}
	})
}
