package mcp_test

import (
	"os"
	"testing"
)

// skip skips a test on a laptop and fails it in CI.
func skip(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(why)
	}
	t.Skip(why)
}
