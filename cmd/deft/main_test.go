package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/deft-dev/deft/sandbox/process"
)

// TestMain makes the test binary deft itself where a script runs it, and the
// first stage and the action server of its sandboxes.
func TestMain(m *testing.M) {
	process.MaybeInit()
	if len(os.Args) > 1 && os.Args[1] == "action-server" {
		main()
	}
	testscript.Main(m, map[string]func(){"deft": main})
}
