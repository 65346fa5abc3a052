package visible_test

import (
	"testing"

	"github.com/deft-dev/deft/internal/visible"
)

func TestText(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"ls\t-l\r\nrm\n": "ls\t-l\nrm\n",
		"a\rb\x1b[2J":    `a\u{d}b\u{1b}[2J`,
		"x\u202ey\u200b": `x\u{202e}y\u{200b}`,
		"\xff":           "\ufffd",
		"a\u200db":       `a\u{200d}b`,
		"👩\u200d💻":       "👩\u200d💻",
	} {
		if got := visible.Text(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
	if visible.Plain('\u200d') || visible.Plain('\x07') || !visible.Plain('é') {
		t.Error("plain characters")
	}
}
