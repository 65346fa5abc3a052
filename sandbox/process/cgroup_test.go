package process

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/internal/must"
)

// TestForkInto starts processes in control groups of both versions, and sees that this
// process's own threads stay where they were.
func TestForkInto(t *testing.T) {
	t.Parallel()
	own := groupsOf(t, "self")
	for name, c := range map[string]struct {
		base string
		v2   bool
	}{
		"version 1": {cgroupRoot + "/freezer", false},
		"version 2": {v2Root(), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(c.base, "deft-test-"+rand.Text())
			if err := os.Mkdir(dir, 0o755); err != nil {
				if os.Getenv("CI") == "true" && os.Getuid() == 0 {
					t.Fatal(err)
				}
				t.Skipf("this host gives no group: %v", err)
			}
			t.Cleanup(func() { must.Report(t, unix.Rmdir(dir)) })
			groups := []group{{controller: "freezer", dir: dir, v2: c.v2}, {controller: "none", err: errors.New("not made")}}
			if c.v2 {
				groups = append(groups, group{controller: "memory", dir: dir, v2: true}) // one for all
			}
			r, w, err := os.Pipe()
			must.Succeed(t, err)
			defer r.Close()
			out, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
			must.Succeed(t, err)
			defer out.Close()
			pid, err := forkInto(groups, "/bin/cat", []string{"cat"}, &syscall.ProcAttr{Files: []uintptr{r.Fd(), out.Fd(), out.Fd()}, Sys: &syscall.SysProcAttr{}})
			must.Succeed(t, err)
			defer func() {
				w.Close()
				if _, err := syscall.Wait4(pid, nil, 0, nil); err != nil {
					t.Error(err)
				}
			}()
			for _, g := range groups {
				if g.late || (g.err != nil) != (g.controller == "none") {
					t.Errorf("%+v", g)
				}
			}
			// Nothing of this process is left there.
			members, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
			if got := strings.TrimSpace(string(members)); err != nil || got != strconv.Itoa(pid) {
				t.Errorf("the group has %q, not %d: %v", got, pid, err)
			}
		})
	}
	t.Cleanup(func() { // after the parallel ones
		if now := groupsOf(t, "self"); now != own {
			t.Errorf("this process is in\n%s, was in\n%s", now, own)
		}
	})
}

// TestForkIntoNothing: groups that are gone keep nobody from starting, and are reported.
func TestForkIntoNothing(t *testing.T) {
	t.Parallel()
	for _, v2 := range []bool{false, true} {
		groups := []group{{controller: "pids", dir: filepath.Join(t.TempDir(), "none"), v2: v2}}
		pid, err := forkInto(groups, "/bin/true", []string{"true"}, &syscall.ProcAttr{Sys: &syscall.SysProcAttr{}})
		must.Succeed(t, err)
		var ws syscall.WaitStatus
		if _, err := syscall.Wait4(pid, &ws, 0, nil); err != nil || ws.ExitStatus() != 0 {
			t.Errorf("%v, %v", ws, err)
		}
		if groups[0].err == nil {
			t.Error("the group was not reported")
		}
		groups[0].err = nil
		if _, err := forkInto(groups, "/none", nil, &syscall.ProcAttr{Sys: &syscall.SysProcAttr{}}); !errors.Is(err, syscall.ENOENT) {
			t.Errorf("a program that does not exist: %v", err)
		}
	}
}

// v2Root is where the host has its groups of version 2.
func v2Root() string {
	if dir := cgroupRoot + "/unified"; exists(dir) {
		return dir
	}
	return cgroupRoot
}

func groupsOf(t *testing.T, process string) string {
	t.Helper()
	b, err := os.ReadFile("/proc/" + process + "/cgroup")
	must.Succeed(t, err)
	return string(b)
}
