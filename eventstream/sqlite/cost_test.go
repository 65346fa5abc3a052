package sqlite_test

import (
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream/sqlite"
	"github.com/deft-dev/deft/internal/must"
)

// TestAppendCost: the allocations of an append are few, and do not depend on the length of
// the history. It is not parallel, because it counts them.
func TestAppendCost(t *testing.T) {
	cost := func(n int) float64 {
		s, err := sqlite.Open(t.Context(), t.TempDir(), sqlite.Options{})
		must.Succeed(t, err)
		defer s.Close()
		id := newConversation(t, s)
		fill(t, s, id, n)
		ev := event.NewUserMessage("hello")
		return testing.AllocsPerRun(50, func() {
			ev.ID = event.NewID()
			if _, err := s.Append(t.Context(), id, ev); err != nil {
				t.Fatal(err)
			}
		})
	}
	if short, long := cost(100), cost(10_000); short > 100 || long > 1.2*short {
		t.Errorf("%v allocations after 100 events, %v after 10,000", short, long)
	}
}
