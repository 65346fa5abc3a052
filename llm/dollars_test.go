package llm_test

import (
	"testing"

	"github.com/deft-dev/deft/llm"
)

func TestDollars(t *testing.T) {
	t.Parallel()
	for d, want := range map[float64]string{
		0: "$0.0000", 0.0001: "$0.00010", 0.000025: "$0.000025", 0.5: "$0.5000", 12.34567: "$12.3457", 0.00121: "$0.0012", 1e-15: "$0.000000000000",
	} {
		if got := llm.Dollars(d); got != want {
			t.Errorf("%v is shown as %s, want %s", d, got, want)
		}
	}
}
