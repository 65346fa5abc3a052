package python_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/test/binary"
	"github.com/deft-dev/deft/test/hostimage"
)

var reference = flag.Bool("reference", false, "run the scenarios against the server that OpenHands publishes")

func TestMain(m *testing.M) { os.Exit(binary.Run(m)) }

// missing skips the test, or fails it where everything must be there.
func missing(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(why)
	}
	t.Skip(why)
}

// interpreter returns the Python that has the packages installed.
func interpreter(t *testing.T, wanted ...string) string {
	t.Helper()
	python := os.Getenv("DEFT_OPENHANDS_PYTHON")
	if python == "" {
		cache, err := os.UserCacheDir()
		must.Succeed(t, err)
		python = filepath.Join(cache, "deft-deps", "openhands-1.58", "bin", "python")
	}
	if _, err := os.Stat(python); err != nil {
		missing(t, "OpenHands' Python packages are not installed (make deps): "+err.Error())
	}
	for _, name := range wanted {
		found, err := filepath.Glob(filepath.Join(filepath.Dir(python), "..", "lib", "python3*", "site-packages", name+"-*.dist-info"))
		must.Succeed(t, err)
		if len(found) == 0 {
			missing(t, name+" is not installed (make deps)")
		}
	}
	return python
}

// line is a line of main.py's output: first the plan, then each scenario's
// outcome.
type line struct {
	Plan   []string `json:"plan"`
	Folder string   `json:"folder"`

	Name    string   `json:"name"`
	OK      bool     `json:"ok"`
	Seconds float64  `json:"seconds"`
	Notes   []string `json:"notes"`
	Error   string   `json:"error"`
}

// play runs the scenarios and makes a subtest of each.
func play(t *testing.T, python string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	if end, ok := t.Deadline(); ok {
		ctx, cancel = context.WithDeadline(t.Context(), end)
	}
	defer cancel()
	cmd := exec.CommandContext(ctx, python, append([]string{"-B", "main.py", "--deft", binary.Path()}, args...)...)
	// The process group has all servers that scenarios start.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "OH_") && !strings.HasPrefix(v, "DEFT_") && !strings.HasPrefix(v, "OPENHANDS_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "INTEROP_DOCKER="+os.Getenv("DEFT_TEST_DOCKER")) // for the Runtime API's containers
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	must.Succeed(t, err)
	var left []string
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var l line
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			t.Fatalf("main.py said %q: %v", lines.Text(), err)
		}
		if l.Plan != nil {
			left = l.Plan
			t.Log("folders in", l.Folder)
			continue
		}
		left = slices.DeleteFunc(left, func(name string) bool { return name == l.Name })
		t.Run(l.Name, func(t *testing.T) {
			t.Logf("%.2f s; %s", l.Seconds, strings.Join(l.Notes, "; "))
			if !l.OK {
				t.Error(l.Error)
			}
		})
	}
	err = cmd.Wait()
	if len(left) > 0 || (err != nil && !t.Failed()) {
		t.Errorf("main.py: %v, %v not run\n%s", err, left, tail(stderr.Bytes()))
	}
}

func tail(b []byte) []byte { return b[max(0, len(b)-4000):] }

// TestClient runs every scenario where commands run beside the server. It ends before
// TestClientWithSandbox begins: each uses all processors.
func TestClient(t *testing.T) {
	if docker := os.Getenv("DEFT_TEST_DOCKER"); docker != "" {
		hostimage.Git(t, docker) // for scenarios_openhands.py
	}
	play(t, interpreter(t, "openhands_sdk", "openhands_tools", "openhands_workspace"))
}

// TestClientWithSandbox runs those to which it makes a difference with a
// sandbox around each conversation's workspace.
func TestClientWithSandbox(t *testing.T) {
	python := interpreter(t, "openhands_sdk", "openhands_tools", "openhands_workspace")
	// Its exit status covers more than sandboxes.
	if out, _ := exec.Command(binary.Path(), "doctor").CombinedOutput(); !bytes.Contains(out, []byte("✓ sandbox")) {
		missing(t, "this host does not allow sandboxes:\n"+string(out))
	}
	play(t, python, "--sandbox", "process")
}

// TestReference runs the scenarios against the reference's own server.
func TestReference(t *testing.T) {
	if !*reference {
		t.Skip("only with -reference: it takes minutes")
	}
	server := os.Getenv("DEFT_OPENHANDS_SERVER_PYTHON")
	if server == "" {
		server = interpreter(t, "openhands_agent_server")
	}
	play(t, interpreter(t, "openhands_sdk", "openhands_tools", "openhands_workspace"), "--reference", server)
}
