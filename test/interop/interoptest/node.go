package interoptest

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/deft-dev/deft/internal/must"
)

// Missing skips the test for a reason, or fails it if CI is "true".
func Missing(t *testing.T, reason string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s; run make deps", reason)
	}
	t.Skipf("%s; run make deps", reason)
}

// Installed returns the folder of test/interop/install.sh.
func Installed(t *testing.T) string {
	t.Helper()
	cache := os.Getenv("XDG_CACHE_HOME")
	if cache == "" {
		home, err := os.UserHomeDir()
		must.Succeed(t, err)
		cache = filepath.Join(home, ".cache")
	}
	dir := filepath.Join(cache, "deft-deps", "interop")
	if _, err := os.Stat(filepath.Join(dir, "installed")); err != nil {
		Missing(t, "the JavaScript clients are not installed")
	}
	return dir
}

// Node returns the Node that the clients ask for.
func Node(t *testing.T) string {
	t.Helper()
	arch := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	path := filepath.Join(Installed(t), "node_modules", "node-linux-"+arch, "bin", "node")
	if _, err := os.Stat(path); err != nil {
		Missing(t, "there is no Node 24 for this machine")
	}
	return path
}

// result is a line that a script prints about one case.
type result struct {
	Name    string  `json:"name"`
	OK      bool    `json:"ok"`
	Seconds float64 `json:"seconds"`
	Error   string  `json:"error"`
}

// Script runs a script of the test's folder in Node, with its parameters as JSON
// in DEFT_INTEROP, and makes a test of each case that it reports. Modules come
// from the installed packages; scripts beside it may be imported.
func Script(t *testing.T, name string, about map[string]any) {
	t.Helper()
	node, dir := Node(t), t.TempDir()
	scripts, err := filepath.Glob("*.mjs")
	must.Succeed(t, err)
	// Node looks for modules beside a script, where the repository has none.
	for _, s := range scripts {
		text, err := os.ReadFile(s)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, s), text, 0o600)
		}
		must.Succeed(t, err)
	}
	must.Succeed(t, os.Symlink(filepath.Join(Installed(t), "node_modules"), filepath.Join(dir, "node_modules")))
	told, err := json.Marshal(about)
	must.Succeed(t, err)
	cmd := exec.CommandContext(t.Context(), node, filepath.Join(dir, name))
	cmd.Env = append(environment(), "DEFT_INTEROP="+string(told))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	report(t, cmd)
}

func report(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	var complaints strings.Builder
	cmd.Stderr = &complaints
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	must.Succeed(t, err)
	cases := 0
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var r result
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Errorf("the script said: %s", lines.Text())
			continue
		}
		cases++
		t.Run(r.Name, func(t *testing.T) {
			t.Logf("took %.2f s", r.Seconds)
			if !r.OK {
				t.Error(r.Error)
			}
		})
	}
	must.Report(t, lines.Err())
	if err := cmd.Wait(); err != nil {
		t.Errorf("the script ended: %v", err)
	}
	if cases == 0 {
		t.Error("the script reported no case")
	}
	if t.Failed() {
		t.Logf("the script's complaints:\n%s", complaints.String())
	}
}
