// Package crash proves that no action of an agent happens twice or stays without
// an answer, whichever process is killed: it runs the real `deft run` against a
// scripted LLM, kills it and its sandbox at hundreds of random points, and checks
// the result.
//
// # Usage
//
//	go test ./test/crash                  # some points of each kind
//	DEFT_PROOF=1 go test ./test/crash     # all of them
//	DEFT_CRASH_SEED=7 go test ./test/crash -run 'TestBothKilled$' -v
//	DEFT_BIN=$PWD/bin/deft go test ./test/crash
//
// Every test prints its seed, which repeats the choice of points; where in the
// program a point falls depends on the machine.
//
// # Concurrency and failure
//
// Each conversation has directories, a server and processes of its own, so any
// number may run side by side. The test process adopts the orphans of killed
// processes, so that it finds them all. A failure names the conversation's
// directory, which is then kept.
package crash_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/test/binary"
)

func TestMain(m *testing.M) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		fmt.Fprintln(os.Stderr, "adopt orphans:", err)
		os.Exit(1)
	}
	code := binary.Run(m)
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// random returns the test's source of random points. Each test has its own, so
// that one can be repeated alone.
func random(t *testing.T) *rand.Rand {
	t.Helper()
	seed := rand.Uint64() % 1_000_000
	if s := os.Getenv("DEFT_CRASH_SEED"); s != "" {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatalf("DEFT_CRASH_SEED: %v", err)
		}
		seed = n
	}
	t.Logf("DEFT_CRASH_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// points returns how many kills a test makes: all in the full proof.
func points(t *testing.T, all int) int {
	switch {
	case os.Getenv("DEFT_PROOF") != "":
		return all
	case testing.Short():
		return max(1, all/60)
	}
	return all / 10
}
