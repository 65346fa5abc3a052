package main

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/deft-dev/deft/cli/stdio"
	"github.com/deft-dev/deft/internal/must"
)

// TestCommandLineCost: making the parser of a command takes few allocations, since each start
// waits for it. It is not parallel, because it counts them.
func TestCommandLineCost(t *testing.T) {
	std := &streams{Streams: stdio.Streams{Env: func(string) string { return "" }}}
	for command, limit := range map[string]float64{"serve": 4000, "agent-server": 4000, "run": 8000, "sandbox-server": 500, "": 45_000} {
		got := testing.AllocsPerRun(3, func() {
			_, err := newCommandLine(t.Context(), command, std)
			must.Succeed(t, err)
		})
		if got > limit {
			t.Errorf("%q: %v allocations, want at most %v", command, got, limit)
		}
	}
}

// initialized is a line of GODEBUG=inittrace=1.
var initialized = regexp.MustCompile(`(?m)^init (\S+) @.*, (\d+) bytes, \d+ allocs$`)

// TestInitializationCost: packages are initialized with little memory. Each start waits for
// the initialization, a sandbox's too, and no process gives the memory back: tables and regular expressions
// are made when they are first needed, as by internal/lazyregexp. Most of it is of modules.
func TestInitializationCost(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	must.Succeed(t, err)
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Args = []string{"deft", "version"} // TestMain
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	var trace strings.Builder
	cmd.Stderr = &trace
	must.Succeed(t, cmd.Run())
	own, all := 0, 0
	for _, m := range initialized.FindAllStringSubmatch(trace.String(), -1) {
		n, err := strconv.Atoi(m[2])
		must.Succeed(t, err)
		all += n
		if strings.HasPrefix(m[1], "github.com/deft-dev/deft/") {
			own += n
		}
	}
	if own == 0 || own > 500_000 || all > 3_200_000 {
		t.Errorf("initialization allocates %d bytes, %d of them in packages of Deft, want at most 3,200,000 and 500,000:\n%s", all, own, trace.String())
	}
}
