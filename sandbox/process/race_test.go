package process_test

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/sandbox/process"
	"github.com/deft-dev/deft/sandbox/process/internal/inside"
)

// TestEndingSandboxIsNotReused has a program that runs without its socket, like
// one that is shutting down.
func TestEndingSandboxIsNotReused(t *testing.T) {
	t.Parallel()
	b := setup(t, process.LevelNamespaces)
	s := b.start(t)
	if got := ask(t, s, request{Act: "hang up"}).Out; got != "<nil>" {
		t.Fatal(got)
	}
	pid, killed := pidOf(t, b), make(chan error, 1)
	time.AfterFunc(100*time.Millisecond, func() { killed <- syscall.Kill(pid, syscall.SIGKILL) })
	again := b.start(t) // waits for its end
	must.Succeed(t, <-killed)
	if again.Reused() {
		t.Error("it was handed out again")
	}
	if got := ask(t, again, request{Act: "pid"}).Out; got != "1" {
		t.Errorf("the new one answers %q", got)
	}
}

// TestNothingStartsUnrecorded is a starter that dies after the init stage has
// reported and before it has noted that there is a sandbox.
func TestNothingStartsUnrecorded(t *testing.T) {
	t.Parallel()
	planR, planW, err := os.Pipe()
	must.Succeed(t, err)
	outR, outW, err := os.Pipe()
	must.Succeed(t, err)
	defer outR.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	must.Succeed(t, err)
	defer null.Close()
	cmd := exec.Command("/proc/self/exe", inside.Arg)
	cmd.ExtraFiles = []*os.File{null, null, planR, outW}
	must.Succeed(t, cmd.Start())
	planR.Close()
	outW.Close()
	plan := map[string]any{"Level": process.LevelNone, "Argv": []string{"/bin/echo", "started"}, "Workspace": t.TempDir()}
	must.Succeed(t, json.NewEncoder(planW).Encode(plan))
	out := bufio.NewReader(outR)
	report, err := out.ReadString('\n')
	if err != nil || !strings.Contains(report, "isolation") {
		t.Fatalf("report %q, error %v", report, err)
	}
	planW.Close()
	if end, err := out.ReadString('\n'); err != nil || !strings.Contains(end, "wait for the start signal") {
		t.Errorf("after the end of the starting process: %q, error %v", end, err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the init stage went on")
	}
}
