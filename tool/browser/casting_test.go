package browser

import (
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
)

// TestCastingOften counts the changes of pages: of one that changes as often as people see it each picture is
// shown, and the screencast goes on; of one that changes more often it rests after each picture.
func TestCastingOften(t *testing.T) {
	for every, want := range map[time.Duration]struct{ moves, hurry bool }{
		400 * time.Millisecond: {},
		100 * time.Millisecond: {moves: true},
		16 * time.Millisecond:  {moves: true, hurry: true},
	} {
		var c casting
		for n := range 10 {
			at := float64(n) * every.Seconds()
			c.add(&page.EventScreencastFrame{Metadata: &page.ScreencastFrameMetadata{Timestamp: cdp.TimeSinceEpoch(at)}})
		}
		if c.moves() != want.moves || c.hurry > 0 != want.hurry {
			t.Errorf("a change every %v: moves %v, hurry %d", every, c.moves(), c.hurry)
		}
		c = casting{resized: true}
		c.add(&page.EventScreencastFrame{Metadata: &page.ScreencastFrameMetadata{}})
		if len(c.changes) != 0 {
			t.Error("a picture of another size counts as a change")
		}
	}
}
