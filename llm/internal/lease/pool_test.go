package lease_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/deft-dev/deft/llm/internal/lease"
)

// TestPool holds that one thing is made for each key, and the oldest forgotten.
func TestPool(t *testing.T) {
	t.Parallel()
	var p lease.Pool[int]
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
		t.Error("not the oldest was forgotten")
	}
}

// TestSnapshot holds that a key stands for all values and shows none.
func TestSnapshot(t *testing.T) {
	t.Parallel()
	env := map[string]string{"A": "1", "B": "secret"}
	read := func(name string) string { return env[name] }
	frozen, key := lease.Snapshot(read, []string{"A", "B"}, "file")
	if _, same := lease.Snapshot(read, []string{"A", "B"}, "file"); same != key || strings.Contains(key, "secret") {
		t.Errorf("keys %s and %s", key, same)
	}
	if _, other := lease.Snapshot(read, []string{"A", "B"}, "other file"); other == key {
		t.Error("another file has the same key")
	}
	env["B"], env["C"] = "changed", "3"
	if _, other := lease.Snapshot(read, []string{"A", "B"}, "file"); other == key {
		t.Error("another environment has the same key")
	}
	if frozen("B") != "secret" || frozen("C") != "" {
		t.Errorf("the snapshot says %q, %q", frozen("B"), frozen("C"))
	}
}
