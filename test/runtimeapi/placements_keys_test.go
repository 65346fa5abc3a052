package runtimeapi_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/deft-dev/deft/internal/must"
)

// seenInside looks for the server's keys, and for a secret of the user that no command has
// named, in all that a sandbox can see, by a command in it and, as root, from outside: there the memory and the variables of
// its action server can be read, too.
func (c *placed) seenInside(t *testing.T) {
	t.Helper()
	const plain, turned = "abcdefghijklmnopqrstuvwxyz", "nopqrstuvwxyzabcdefghijklm"
	var out struct{ Stdout string }
	status := c.do(t, "POST", c.path()+"/bash/execute_bash_command", map[string]any{
		// In another alphabet: masked text would be missing here.
		"command": `cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | tr '\0` + plain + `' '\n` + turned + `'`, "timeout": 60,
	}, &out)
	found := strings.Map(func(r rune) rune {
		if i := strings.IndexRune(turned, r); i >= 0 {
			return rune(plain[i])
		}
		return r
	}, out.Stdout)
	if status != http.StatusOK || !strings.Contains(found, "sleep\n"+c.mark) {
		t.Fatalf("look inside: %d %q", status, found)
	}
	for _, secret := range []string{llmKey, c.key, unusedSecret} {
		if strings.Contains(found, secret) {
			t.Errorf("a command finds %q", secret)
		}
	}
	if os.Geteuid() != 0 {
		return // text it could read, the command has
	}
	pids := c.processes(t)
	if len(pids) < 3 { // an action server, a shell, its command
		t.Fatalf("processes %v", pids)
	}
	searched := false // where a command's own text is
	for _, pid := range pids {
		for what, text := range readProcess(t, pid) {
			searched = searched || what == "memory" && bytes.Contains(text, []byte("sleep "+c.mark))
			for _, secret := range []string{llmKey, c.key, unusedSecret} {
				if bytes.Contains(text, []byte(secret)) {
					t.Errorf("%s of process %s has %q", what, pid, secret)
				}
			}
		}
	}
	if !searched {
		t.Error("the memory was not read")
	}
}

// sealedInside looks, by a command beside the server, for its keys and for a secret in
// variables and in all files: they are in the server's memory only.
func (c *placed) sealedInside(t *testing.T) {
	t.Helper()
	// The command has them in another alphabet: it would find itself.
	const turn = `tr '\0A-Za-z' '\nN-ZA-Mn-za-m'`
	turned := func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return 'A' + (r-'A'+13)%26
		case r >= 'a' && r <= 'z':
			return 'a' + (r-'a'+13)%26
		}
		return r
	}
	dir := filepath.Dir(c.workspace)
	for secret, want := range map[string]bool{llmKey: false, c.key: false, unusedSecret: false, "echo one >>made": true} {
		var out struct{ Stdout string }
		status := c.do(t, "POST", c.path()+"/bash/execute_bash_command", map[string]any{
			// The script of the model has the key that it wants.
			"command": `(cat /proc/[0-9]*/environ; find ` + dir + ` -type f ! -name llm.yaml -exec cat {} \;) 2>/dev/null | ` + turn + ` | grep -a -c -F '` + strings.Map(turned, secret) + `'`, "timeout": 60,
		}, &out)
		if found := strings.TrimSpace(out.Stdout); status != http.StatusOK || found == "" || (found != "0") != want {
			t.Errorf("%q: %d, found %q", secret, status, found)
		}
	}
}

// processes are those in the PID namespace of the sandbox, by their numbers here.
func (c *placed) processes(t *testing.T) (pids []string) {
	t.Helper()
	marked := processesWith(t, "sleep\x00"+c.mark)
	if len(marked) == 0 {
		t.Fatal("the sandbox's command does not run")
	}
	pid, _, _ := strings.Cut(marked[0], " ")
	space, err := os.Readlink("/proc/" + pid + "/ns/pid")
	must.Succeed(t, err)
	if own, err := os.Readlink("/proc/self/ns/pid"); err != nil || own == space {
		t.Skipf("this machine has no PID namespace for the sandbox: %v", err)
	}
	all, err := filepath.Glob("/proc/[0-9]*/ns/pid")
	must.Succeed(t, err)
	for _, path := range all {
		if other, err := os.Readlink(path); err == nil && other == space {
			pids = append(pids, strings.Split(path, "/")[2])
		}
	}
	return pids
}

// readProcess returns the variables, arguments, memory and mapped files of a process;
// nothing if it has ended.
func readProcess(t *testing.T, pid string) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	dir := "/proc/" + pid + "/"
	ended := func(err error) bool {
		return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH)
	}
	for _, name := range []string{"environ", "cmdline", "maps"} {
		raw, err := os.ReadFile(dir + name)
		if err != nil && !ended(err) {
			t.Errorf("process %s: %v", pid, err)
		}
		all[name] = raw
	}
	memory, err := os.Open(dir + "mem")
	if err != nil {
		if !ended(err) {
			t.Errorf("process %s: %v", pid, err)
		}
		return all
	}
	defer memory.Close()
	for line := range strings.Lines(string(all["maps"])) {
		var from, to, offset, inode uint64
		var rights, device, path string
		if _, err := fmt.Sscanf(line, "%x-%x %s %x %s %d %s", &from, &to, &rights, &offset, &device, &inode, &path); err != nil && inode != 0 {
			t.Errorf("%q: %v", line, err)
		}
		if inode != 0 && all[path] == nil {
			if raw, err := os.ReadFile(dir + "root" + path); err == nil { // else it was removed, and its pages are in the memory
				all[path] = raw
			}
		}
		if strings.HasPrefix(rights, "rw") && to-from < 1<<30 {
			page := make([]byte, to-from)
			n, _ := memory.ReadAt(page, int64(from)) // a missing file cannot be read
			all["memory"] = append(all["memory"], page[:n]...)
		}
	}
	return all
}
