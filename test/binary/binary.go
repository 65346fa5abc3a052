// Package binary builds Deft for tests that use it as people do, as a program,
// and runs it as an agent server.
//
// # Usage
//
//	func TestMain(m *testing.M) { os.Exit(binary.Run(m)) }
//
//	url := binary.Serve(t, "OH_SESSION_API_KEYS_0="+key).URL
//	out, err := exec.Command(binary.Path(), "doctor").CombinedOutput()
//
// Where DEFT_BIN names a binary, that one is tested and nothing is built. A path
// that is not absolute begins at the folder of the tests.
//
// # Concurrency and failure
//
// Each server has a folder and a port of its own and ends with its test, so any
// number may run side by side. One that panics fails its test; its output is
// logged where the test failed.
package binary

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// deft is the path of the binary under test. [Run] sets it.
var deft string

// Path returns the absolute path of the binary under test.
func Path() string { return deft }

// Run builds the binary, runs the tests and returns their exit code, for
// os.Exit; 1 if nothing could be built.
func Run(m *testing.M) int {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "build deft:", err)
		return 1
	}
	return code
}

// Build builds deft as make does, with the program of sandboxes in it.
func Build(output string) error {
	// There is no test yet whose context could end it.
	ctx := context.Background()
	source, err := exec.CommandContext(ctx, "go", "list", "-f", "{{.Dir}}", "github.com/deft-dev/deft/sandbox/program").Output()
	if err != nil {
		return fmt.Errorf("find the source: %w", err)
	}
	build := exec.CommandContext(ctx, filepath.Join(strings.TrimSpace(string(source)), "build.sh"), output)
	build.Stderr = os.Stderr
	return build.Run()
}

// Given returns the absolute path of the binary that DEFT_BIN names; "" for none.
func Given() (string, error) {
	named := os.Getenv("DEFT_BIN")
	if named == "" {
		return "", nil
	}
	return filepath.Abs(named)
}

func run(m *testing.M) (code int, err error) {
	if deft, err = Given(); err != nil {
		return 0, err
	}
	if deft == "" {
		dir, err := os.MkdirTemp("", "deft-binary-")
		if err != nil {
			return 0, err
		}
		defer os.RemoveAll(dir)
		if err := os.Chmod(dir, 0o755); err != nil { // sandboxes and other users run it too
			return 0, err
		}
		deft = filepath.Join(dir, "deft")
		if err := Build(deft); err != nil {
			return 0, err
		}
	}
	return m.Run(), nil
}
