package waittest_test

import (
	"testing"

	"github.com/deft-dev/deft/internal/waittest"
)

func TestUntil(t *testing.T) {
	t.Parallel()
	looks := 0
	waittest.Until(t, "three looks", func() bool { looks++; return looks == 3 })
	if looks != 3 {
		t.Errorf("%d looks", looks)
	}
}

func TestStill(t *testing.T) {
	t.Parallel()
	looks := 0
	waittest.Still(t, "a number stands still", func() int { looks++; return min(looks, 5) })
	if looks != 14 {
		t.Errorf("%d looks", looks)
	}
}
