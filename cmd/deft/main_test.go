package main

import (
	"fmt"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/deft-dev/deft/internal/acptest"
	"github.com/deft-dev/deft/sandbox/process"
)

// TestMain makes the test binary deft itself where a script runs it, and the
// first stage and the action server of its sandboxes.
func TestMain(m *testing.M) {
	process.MaybeInit()
	registerTrial()
	registerTrialTool()
	if len(os.Args) > 1 && os.Args[1] == "action-server" {
		main()
	}
	testscript.Main(tests{m}, map[string]func(){"deft": main, "scripted-acp": func() { acptest.Main(os.Args[1:]) }})
}

// tests are the tests of the package.
type tests struct{ *testing.M }

// Run runs them, and removes the binaries they have built.
func (t tests) Run() int {
	activateSignals() // before any test starts a program
	code := t.M.Run()
	if err := os.RemoveAll(builtDir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}
