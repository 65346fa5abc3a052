package inside

import (
	"os"
	"strings"
	"testing"
)

// TestLandlockGaps: the report of the level landlock names the files of the host that commands can read.
func TestLandlockGaps(t *testing.T) {
	t.Parallel()
	for _, network := range []bool{true, false} {
		said := ""
		for _, gap := range landlockGaps(7, &Plan{Level: LevelLandlock, Network: network}) {
			said += gap.Feature + ": " + gap.Reason + "\n"
		}
		if !strings.Contains(said, "command lines") || strings.Contains(said, "slabinfo") != (os.Geteuid() == 0) || !strings.Contains(said, "file-modes: ") {
			t.Errorf("the report says %s", said)
		}
	}
}
