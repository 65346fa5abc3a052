package hostile_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/test/binary"
)

// nobody is an account without any right.
const nobody = 65534

// TestServerMemory looks, in a command that runs without a sandbox as the server's
// user, for the server's secrets. Root may look anywhere, so root runs it as nobody.
func TestServerMemory(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 {
		asNobody(t)
		return
	}
	const key, secret = "key-for-clients", "secret-of-the-server"
	s := binary.Serve(t, "OH_SESSION_API_KEYS_0="+key, "OH_SECRET_KEY="+secret)
	v := &victim{url: s.URL, pid: s.PID, dir: s.Dir, key: key, answers: map[int]int{}}
	run := func(command string) (stdout string, code int) {
		t.Helper()
		status, raw := v.do(t, "POST", "/api/bash/execute_bash_command", map[string]any{"command": command, "timeout": 30})
		var out struct {
			Stdout   string
			ExitCode int `json:"exit_code"`
		}
		if err := json.Unmarshal(raw, &out); err != nil || status != http.StatusOK {
			t.Fatalf("%s: %d %s", command, status, raw)
		}
		return out.Stdout, out.ExitCode
	}
	looks := []string{"cat %s/environ", "cat %s/maps", "ls -A %s/fd", "ls -A %s/map_files", "cat %s/fd/0", "head -c 1 %s/mem", "cat %s/auxv", "readlink %s/cwd", "readlink %s/exe", "ls %s/root/"}
	for _, look := range looks {
		if strings.HasSuffix(look, "/mem") || strings.HasSuffix(look, "/fd/0") || strings.HasSuffix(look, "map_files") {
			continue // of oneself: nothing is at address 0, and input may be anything
		}
		if out, code := run(fmt.Sprintf(look, "/proc/self")); code != 0 || out == "" {
			t.Errorf("of itself, %s: code %d, %q", look, code, out)
		}
	}
	server := fmt.Sprintf("/proc/%d", s.PID)
	for _, look := range looks {
		out, code := run(fmt.Sprintf(look, server))
		if code == 0 || out != "" {
			t.Errorf("of the server, %s: code %d, %q", look, code, out)
		}
	}
}

// asNobody runs a test again as a user without rights.
func asNobody(t *testing.T) {
	t.Helper()
	base, err := os.MkdirTemp("", "deft-nobody-") //nolint:usetesting // t.TempDir is closed to others
	must.Succeed(t, err)
	t.Cleanup(func() { os.RemoveAll(base) })
	must.Succeed(t, os.Chown(base, nobody, nobody))
	exe, err := os.Executable()
	must.Succeed(t, err)
	// A file in the directory of the test's binary could not be reached.
	test := filepath.Join(base, "hostile.test")
	if out, err := exec.CommandContext(t.Context(), "install", "-m", "755", exe, test).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), test, "-test.run=^"+t.Name()+"$", "-test.count=1", "-test.v")
	cmd.Dir = base
	cmd.Env = []string{"HOME=" + base, "TMPDIR=" + base, "PATH=" + os.Getenv("PATH"), "CI=" + os.Getenv("CI"), "DEFT_BIN=" + binary.Path()}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()+" ") {
		t.Errorf("as user %d: %v\n%s", nobody, err, out)
	}
}
