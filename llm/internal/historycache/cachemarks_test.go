package historycache_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/llm/internal/historycache"
	"github.com/deft-dev/deft/llm/modeltest"
)

func TestLimitCacheMarks(t *testing.T) {
	t.Parallel()
	msgs := modeltest.LongHistory(14)
	for i := range msgs {
		msgs[i].Content[0].CachePrompt = true
	}
	out := historycache.LimitCacheMarks(msgs, 4, func(c *event.Content) bool { return c.CachePrompt })
	var kept []int
	for i := range out {
		if out[i].Content[0].CachePrompt {
			kept = append(kept, i)
		}
		if !msgs[i].Content[0].CachePrompt {
			t.Errorf("message %d of the input was changed", i)
		}
	}
	if diff := cmp.Diff([]int{0, 11, 12, 13}, kept); diff != "" {
		t.Errorf("marks (-want +got):\n%s", diff)
	}
}
