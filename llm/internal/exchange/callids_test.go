package exchange_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/deft-dev/deft/llm/internal/exchange"
)

func TestCallIDs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want []string }{
		{[]string{"a", "b"}, []string{"a", "b"}},
		{[]string{"a", "a", "a"}, []string{"a", "a_2", "a_3"}},
		{[]string{"a_2", "a", "a", "a"}, []string{"a_2", "a", "a_3", "a_4"}},
		{[]string{"a", "a", "a_2", "a_2"}, []string{"a", "a_2", "a_2_2", "a_2_3"}},
		{[]string{"", ""}, []string{"", "_2"}},
	} {
		var ids exchange.CallIDs
		var got []string
		for _, id := range c.in {
			got = append(got, ids.Unique(id))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%v become %v, want %v", c.in, got, c.want)
		}
	}
	// As many as an answer may hold; all pairs would take minutes.
	var ids exchange.CallIDs
	seen := map[string]bool{}
	for i := range 200_000 {
		seen[ids.Unique("call")] = true
		seen[ids.Unique(fmt.Sprint("call_", i))] = true
	}
	if len(seen) != 400_000 {
		t.Errorf("%d ids of 400,000", len(seen))
	}
}
