package stdio_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/deft-dev/deft/cli/stdio"
	"github.com/deft-dev/deft/fault"
)

// TestTelling: work that takes longer than a second is named.
func TestTelling(t *testing.T) {
	t.Parallel()
	for took, want := range map[time.Duration]string{time.Second / 2: "", 2 * time.Second: "writing files …\n"} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			err := (&stdio.Streams{Err: &out}).Telling("writing files", func() error {
				time.Sleep(took) // of the bubble's own clock
				return io.EOF
			})
			if !errors.Is(err, io.EOF) || out.String() != want {
				t.Errorf("%v: %q, %v", took, out.String(), err)
			}
		})
	}
}

func TestConfirm(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	std := &stdio.Streams{In: strings.NewReader("y\nno\nyes\n"), Err: &out, InTTY: true}
	for _, want := range []fault.Kind{"", fault.Canceled, "", fault.Canceled} { // the last one at the end of the input
		err := std.Confirm(t.Context(), "files would change", "go back?", "nothing was changed", false)
		if want == "" && err != nil || want != "" && !fault.Is(err, want) {
			t.Errorf("%v, want kind %q", err, want)
		}
	}
	if n := strings.Count(out.String(), "go back? [y/N] "); n != 4 {
		t.Errorf("%d questions in %q", n, out.String())
	}
}
