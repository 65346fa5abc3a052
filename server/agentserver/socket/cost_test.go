package socket_test

import (
	"testing"

	"github.com/deft-dev/deft/internal/must"
)

// TestDeliveryCost: an append with its delivery to a follower takes few allocations, and a
// further follower some three. It is not parallel, because it counts them.
func TestDeliveryCost(t *testing.T) {
	cost := func(followers int) float64 {
		h := setup(t)
		var clients []*bare
		skip := func() {
			for _, c := range clients {
				must.Succeed(t, c.skip())
			}
		}
		for range followers {
			clients = append(clients, h.bare(t, h.events(), 4096))
		}
		skip()
		return testing.AllocsPerRun(50, func() {
			h.add(t, "hello")
			skip()
		})
	}
	if one, eleven := cost(1), cost(11); one > 120 || eleven-one > 10*6 {
		t.Errorf("%v allocations for one follower, %v for eleven", one, eleven)
	}
}
