package stdio_test

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/deft-dev/deft/cli/stdio"
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
