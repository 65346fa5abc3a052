package startpages

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/deft-dev/deft/internal/must"
)

// resident is how much of files this process has mapped, in bytes.
func resident(t *testing.T) int {
	t.Helper()
	raw, err := os.ReadFile("/proc/self/status")
	must.Succeed(t, err)
	for line := range strings.Lines(string(raw)) {
		if rest, ok := strings.CutPrefix(line, "RssFile:"); ok {
			n, err := strconv.Atoi(strings.Fields(rest)[0])
			must.Succeed(t, err)
			return n << 10
		}
	}
	t.Fatal("no RssFile")
	return 0
}

func TestRelease(t *testing.T) { //nolint:paralleltest // it measures this process
	// The tables of package unicode are constants that nothing has used so far.
	letters := func() (n int) {
		for r := range rune(unicode.MaxRune) {
			if unicode.IsLetter(r) || unicode.Is(unicode.Han, r) {
				n++
			}
		}
		return n
	}
	before := letters()
	full := resident(t)
	must.Succeed(t, Release())
	if left := resident(t); left > full*3/4 {
		t.Errorf("%d bytes of %d are left", left, full)
	}
	if again := letters(); again != before {
		t.Errorf("%d letters, and before %d", again, before)
	}
}

func TestConstant(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]bool{
		"00400000-017d2000 r-xp 00000000 fe:00 10502236                           /bin/de ft\n": true,
		"017d2000-02c49000 r--p 013d2000 fe:00 10502236                           /bin/de ft\n": true,
		"02c49000-02dbf000 rw-p 02849000 fe:00 10502236                           /bin/de ft\n": false,
		"02c49000-02dbf000 r--s 02849000 fe:00 10502236                           /bin/de ft\n": false,
		"017d2000-02c49000 r--p 013d2000 fe:00 10502236                           /bin/de\n":    false,
		"377e7a000000-377e7a800000 rw-p 00000000 00:00 0 \n":                                    false,
		"x-y r--p 013d2000 fe:00 10502236                           /bin/de ft\n":               false,
		"": false,
	} {
		from, to, ok := constant(line, "/bin/de ft")
		if ok != want || ok && from >= to {
			t.Errorf("%q: %x to %x, %v", line, from, to, ok)
		}
	}
}
