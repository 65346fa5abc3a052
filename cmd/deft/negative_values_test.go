package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestNegativeValues joins flags and the numbers below 0 after them, and nothing else.
func TestNegativeValues(t *testing.T) {
	t.Parallel()
	for _, tt := range [][2][]string{
		{{"run", "--max-cost", "-1", "x"}, {"run", "--max-cost=-1", "x"}},
		{{"run", "--keep", "-.5s"}, {"run", "--keep=-.5s"}},
		{{"run", "--net=none", "-1"}, {"run", "--net=none", "-1"}},
		{{"run", "-1"}, {"run", "-1"}},
		{{"run", "--json", "-q"}, {"run", "--json", "-q"}},
		{{"run", "--", "--max-cost", "-1"}, {"run", "--", "--max-cost", "-1"}},
	} {
		if diff := cmp.Diff(tt[1], negativeValues(tt[0])); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt[0], diff)
		}
	}
}
