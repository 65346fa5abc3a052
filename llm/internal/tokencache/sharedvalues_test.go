package tokencache_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/deft-dev/deft/llm/internal/tokencache"
)

// TestShared checks that each key has one value, and that the oldest is evicted.
func TestShared(t *testing.T) {
	t.Parallel()
	var p tokencache.Shared[int]
	made := 0
	get := func(key string) int {
		return p.Get(key, func() int { made++; return made })
	}
	if get("a") != 1 || get("b") != 2 || get("a") != 1 {
		t.Error("the same key gave another value")
	}
	for i := range 63 {
		get(strconv.Itoa(i))
	}
	if get("b") != 2 || get("a") != 66 {
		t.Error("another value than the oldest was evicted")
	}
}

// TestSnapshot checks that the key depends on all values and reveals none.
func TestSnapshot(t *testing.T) {
	t.Parallel()
	env := map[string]string{"A": "1", "B": "secret"}
	read := func(name string) string { return env[name] }
	frozen, key := tokencache.Snapshot(read, []string{"A", "B"}, "file")
	if _, same := tokencache.Snapshot(read, []string{"A", "B"}, "file"); same != key || strings.Contains(key, "secret") {
		t.Errorf("keys %s and %s", key, same)
	}
	if _, other := tokencache.Snapshot(read, []string{"A", "B"}, "other file"); other == key {
		t.Error("another file has the same key")
	}
	env["B"], env["C"] = "changed", "3"
	if _, other := tokencache.Snapshot(read, []string{"A", "B"}, "file"); other == key {
		t.Error("another environment has the same key")
	}
	if frozen("B") != "secret" || frozen("C") != "" {
		t.Errorf("the snapshot says %q, %q", frozen("B"), frozen("C"))
	}
}
