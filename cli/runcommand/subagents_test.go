package runcommand

import (
	"slices"
	"testing"
)

func TestNamesOfSubAgents(t *testing.T) {
	t.Parallel()
	a := subAgents{named: map[string]int{}}
	var got []string
	for _, of := range []string{"explorer", "coder", "explorer", "explorer"} {
		got = append(got, a.name(of))
	}
	if want := []string{"explorer", "coder", "explorer 2", "explorer 3"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
