// Package kerneltest has the Jupyter kernel of tests, which test/deps/jupyter.sh installs.
//
// # Usage
//
//	exec := ipython.New(ipython.Config{Dir: dir, Env: kerneltest.Environment(t)})
//
// # Concurrency and failure
//
// It is safe for concurrent use. Without the kernel a test is skipped, and fails in CI.
package kerneltest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deft-dev/deft/internal/must"
)

// Find returns the directory of an environment of Python that has a kernel, and the one with its
// Python, which a sandbox has to show too.
func Find() (dir, python string, err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", "", err
	}
	dir = filepath.Join(cache, "deft-deps", "jupyter")
	program, err := filepath.EvalSymlinks(filepath.Join(dir, "bin", "python3"))
	if err != nil {
		return "", "", fmt.Errorf("there is no Jupyter kernel: make deps installs one: %w", err)
	}
	python = filepath.Dir(filepath.Dir(program))
	if strings.HasPrefix(python, "/usr") { // each sandbox shows it
		python = dir
	}
	return dir, python, nil
}

// Dir returns the directory of an environment of Python that has a kernel.
func Dir(t testing.TB) string {
	t.Helper()
	dir, _, err := Find()
	if err != nil && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	must.Succeed(t, err)
	return dir
}

// Environment returns the environment of kernels.
func Environment(t testing.TB) []string {
	t.Helper()
	return []string{"PATH=" + filepath.Join(Dir(t), "bin") + ":/usr/bin:/bin", "HOME=" + t.TempDir()}
}
