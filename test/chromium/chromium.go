// Package chromium finds the browser of tests and keeps it from other tests' changes
// of the machine's networks, see test/chromium/steady. The browser is the headless shell,
// which has no windows and takes a third less processor time, or Chromium where that is
// missing.
//
// # Usage
//
//	path, err := chromium.Path(t)
//	exec := browser.New(browser.Config{Dir: dir, Env: chromium.Environment(t)})
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

	"github.com/deft-dev/deft/internal/must"
)

// Path returns the path of a program that starts Chromium with its arguments.
func Path(t testing.TB) (string, error) {
	t.Helper()
	installed, err := exec.LookPath("chromium-headless-shell")
	if err != nil {
		installed, err = exec.LookPath("chromium")
	}
	if err != nil || runtime.GOOS != "linux" {
		return installed, err
	}
	dir := t.TempDir()
	steady := filepath.Join(dir, "steady")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", steady, "github.com/deft-dev/deft/test/chromium/steady").CombinedOutput(); err != nil {
		t.Fatalf("build the starter of Chromium: %v\n%s", err, out)
	}
	script := filepath.Join(dir, "chromium")
	must.Succeed(t, os.WriteFile(script, fmt.Appendf(nil, "#!/bin/sh\nexec '%s' '%s' \"$@\"\n", steady, installed), 0o755))
	return script, nil
}

// Installed skips the test where there is no Chromium, which every sandbox sees.
func Installed(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("chromium-headless-shell"); err != nil {
		missing(t)
	}
}

func missing(t testing.TB) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal("there is no Chromium: make deps")
	}
	t.Skip("there is no Chromium: make deps installs it")
}

// Environment returns the environment of browsers.
func Environment(t testing.TB) []string {
	t.Helper()
	program, err := Path(t)
	if err != nil {
		missing(t)
	}
	dir := t.TempDir()
	must.Succeed(t, os.Symlink(program, filepath.Join(dir, "chromium-headless-shell")))
	return []string{"PATH=" + dir + ":/usr/bin:/bin", "HOME=" + t.TempDir()}
}
