package conversations

import "testing"

func TestForkTitle(t *testing.T) {
	t.Parallel()
	for title, want := range map[string]string{
		"Fix it": "Fix it (2)", "Fix it (2)": "Fix it (3)", "Fix it (9)": "Fix it (10)", "(2)": "(2) (2)", "Year (20261)": "Year (20261) (2)", "": "", " ": " ",
	} {
		if got := forkTitle(title); got != want {
			t.Errorf("%q: %q, want %q", title, got, want)
		}
	}
}
