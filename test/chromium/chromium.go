// Package chromium finds the browser of tests and keeps it from other tests' changes
// of the machine's networks, see test/chromium/steady.
//
// # Usage
//
//	path, err := chromium.Path(t)
//
// # Concurrency and failure
//
// Each call builds a starter of its own, which ends with the test. An error is that there
// is no Chromium; a starter that cannot be made fails the test.
package chromium

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// Path returns the path of a program that starts Chromium with its arguments.
func Path(t testing.TB) (string, error) {
	t.Helper()
	installed, err := exec.LookPath("chromium")
	if err != nil || runtime.GOOS != "linux" {
		return installed, err
	}
	dir := t.TempDir()
	steady := filepath.Join(dir, "steady")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", steady, "github.com/deft-dev/deft/test/chromium/steady").CombinedOutput(); err != nil {
		t.Fatalf("build the starter of Chromium: %v\n%s", err, out)
	}
	script := filepath.Join(dir, "chromium")
	if err := os.WriteFile(script, fmt.Appendf(nil, "#!/bin/sh\nexec '%s' '%s' \"$@\"\n", steady, installed), 0o755); err != nil {
		t.Fatal(err)
	}
	return script, nil
}
