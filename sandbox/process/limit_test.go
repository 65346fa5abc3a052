package process_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/internal/limits"
	"github.com/deft-dev/deft/sandbox/process"
)

// limited starts a sandbox with limits and skips if the host cannot hold them.
func limited(t *testing.T, l sandbox.Limits, feature string) sandbox.Sandbox {
	t.Helper()
	b := setup(t, process.LevelNamespaces)
	b.spec.Limits = l
	s := b.start(t)
	for _, m := range s.Report().Missing {
		if m.Feature == feature {
			if os.Getenv("CI") == "true" && os.Getuid() == 0 {
				t.Fatalf("%s: %s", feature, m.Reason)
			}
			t.Skipf("%s: %s", feature, m.Reason)
		}
	}
	return s
}

func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	s := limited(t, sandbox.Limits{MemoryBytes: 128 << 20}, "cgroup-memory")
	// A private file system counts as memory too.
	a := sh(t, s, `head -c 300M /dev/zero | tail -c 290M | wc -c`)
	if strings.Contains(a.Out, "304087040") {
		t.Errorf("290 MB were held with a limit of 128: %q", a.Out)
	}
	if got := ask(t, s, request{Act: "pid"}).Out; got != "1" {
		t.Errorf("the server did not survive: %q", got)
	}
}

func TestCgroupsGoWithTheSandbox(t *testing.T) {
	t.Parallel()
	b := setup(t, process.LevelNamespaces)
	b.spec.Limits = sandbox.Limits{CPUs: 0.5, PIDs: 100, MemoryBytes: 1 << 30}
	s := b.start(t)
	data, err := os.ReadFile(filepath.Join(b.dir, "one/state.json"))
	must.Succeed(t, err)
	var st struct{ Cgroups []string }
	must.Succeed(t, json.Unmarshal(data, &st))
	if len(st.Cgroups) == 0 {
		if os.Getenv("CI") == "true" && os.Getuid() == 0 {
			t.Fatalf("root gets no cgroup: %+v", s.Report().Missing)
		}
		t.Skipf("this host has none to give: %+v", s.Report().Missing)
	}
	must.Succeed(t, s.Stop(t.Context()))
	for _, dir := range st.Cgroups {
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

// TestLimitsTooSmall: where the limits do not even let the sandbox start, the error
// names the limit to raise.
func TestLimitsTooSmall(t *testing.T) {
	t.Parallel()
	for flag, l := range map[string]sandbox.Limits{"--memory": {MemoryBytes: 1 << 20}, "--pids": {PIDs: 1}} {
		t.Run(flag, func(t *testing.T) {
			t.Parallel()
			b := setup(t, process.LevelNamespaces)
			b.spec.Limits = l
			s, err := b.Start(t.Context(), b.spec)
			if err == nil {
				if os.Getenv("CI") == "true" && os.Getuid() == 0 {
					t.Fatalf("root gets no control group, or it does not hold: %+v", s.Report().Missing)
				}
				t.Skipf("this host has no control group to give: %+v", s.Report().Missing)
			}
			if !fault.Is(err, fault.Unavailable) || !strings.Contains(fault.HintOf(err), flag) {
				t.Errorf("%v, hint %q; want an error of kind unavailable that names %s", err, fault.HintOf(err), flag)
			}
		})
	}
}

// TestTemporarySpaceIsBounded: the private directories have one size together.
func TestTemporarySpaceIsBounded(t *testing.T) {
	t.Parallel()
	b := setup(t, process.LevelNamespaces) // with 64 MB
	s := b.start(t)
	for _, dir := range []string{"/tmp", "/var/tmp", "/run", "/dev/shm", b.home} {
		a := sh(t, s, `head -c 40M /dev/zero >/dev/shm/half && head -c 25M /dev/zero >"$1/rest" || rm "$1/rest" /dev/shm/half`, dir)
		if !strings.Contains(a.Out, "No space") {
			t.Errorf("%s: %q", dir, a.Out)
		}
	}
}

// TestTemporarySpaceFollowsMemory: who fills /tmp of a sandbox with little memory is told
// that it is full, and the sandbox lives on.
func TestTemporarySpaceFollowsMemory(t *testing.T) {
	t.Parallel()
	b := setup(t, process.LevelNamespaces)
	p, err := process.New(process.Options{Dir: b.dir, Level: process.LevelNamespaces, Home: b.home, Env: b.env})
	must.Succeed(t, err)
	t.Cleanup(func() { must.Report(t, p.Close()) })
	b.Provider, b.spec.Limits.MemoryBytes = p, 384<<20
	s := b.start(t)
	t.Cleanup(func() { must.Report(t, p.Remove(context.Background(), b.spec.ID)) })
	if a := sh(t, s, `head -c 2G /dev/zero >/tmp/full; stat -c %s /tmp/full`); !strings.Contains(a.Out, "No space") || !strings.Contains(a.Out, strconv.Itoa(128<<20)) {
		t.Errorf("%q", a.Out)
	}
}

// TestDefaultLimits: a sandbox whose starter names no limits has some all the same,
// and its report says which.
func TestDefaultLimits(t *testing.T) {
	t.Parallel()
	for _, level := range levels {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			b := setup(t, level)
			s := b.start(t)
			bounds := map[string]string{}
			for _, bound := range s.Report().Bounds {
				bounds[bound.Resource] = bound.Value
			}
			t.Logf("%q", bounds)
			for _, resource := range []string{"memory", "processes", "processors", "private files", "descriptors", "inotify", "workspace"} {
				if bounds[resource] == "" {
					t.Errorf("the report does not say how much of %s it may use", resource)
				}
			}
			if files, _, _ := strings.Cut(bounds["descriptors"], " "); sh(t, s, `ulimit -Hn`).Out != files+"\n" {
				t.Errorf("descriptors: %q", files)
			}
			features := s.Report().Features
			for resource, bounded := range map[string]bool{
				"memory": slices.Contains(features, "cgroup-memory") || slices.Contains(features, "memory-watch"), "processors": false, "workspace": false,
				"processes":     slices.Contains(features, "cgroup-pids") || slices.Contains(features, "process-limit"),
				"private files": level == process.LevelNamespaces, "inotify": level == process.LevelNamespaces,
			} {
				if strings.HasPrefix(bounds[resource], "not bounded") == bounded {
					t.Errorf("%s: %q, with %q", resource, bounds[resource], features)
				}
			}
			if level == process.LevelNamespaces {
				inotifyIsShared(t, s, bounds["inotify"])
			}
		})
	}
}

// inotifyIsShared takes all instances that it can get.
func inotifyIsShared(t *testing.T, s sandbox.Sandbox, bound string) {
	t.Helper()
	const open = `import ctypes
libc = ctypes.CDLL(None)
n = 0
while n < 100000 and libc.inotify_init() >= 0: n += 1
print(n)`
	raw, err := os.ReadFile("/proc/sys/fs/inotify/max_user_instances")
	must.Succeed(t, err)
	all, err := strconv.Atoi(strings.TrimSpace(string(raw)))
	must.Succeed(t, err)
	a := ask(t, s, request{Argv: []string{tool(t, "python3"), "-c", open}})
	got, err := strconv.Atoi(strings.TrimSpace(a.Out))
	if err != nil || got != max(all/4, 1) || !strings.HasPrefix(bound, strconv.Itoa(got)+" instances") {
		t.Errorf("%q of %d inotify instances could be taken; the report says %q", a.Out, all, bound)
	}
}

// TestForkBombOfDefaults makes as many processes as a sandbox without limits of its
// own lets it.
func TestForkBombOfDefaults(t *testing.T) {
	t.Parallel()
	for _, level := range levels {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			b := setup(t, level)
			s := b.start(t)
			if level == process.LevelLandlock && !slices.Contains(s.Report().Features, "cgroup-pids") {
				t.Skip("there the limit counts all processes of the user: other tests could start none")
			}
			most := limits.WithDefaults(sandbox.Limits{}).PIDs
			a := sh(t, s, `trap 'echo $i' EXIT; i=0; while [ $i -lt `+strconv.Itoa(most+500)+` ]; do sleep 1000 >/dev/null 2>&1 & i=$((i+1)); done`)
			lines := strings.Fields(a.Out)
			if got, err := strconv.Atoi(lines[len(lines)-1]); err != nil || got > most || got < most-200 {
				t.Errorf("%q processes were made with a limit of %d, %v", a.Out, most, err)
			}
			must.Report(t, s.Stop(t.Context()))
		})
	}
}

// TestProcessesAreBoundedForUsers: where there is no control group, a resource limit
// bounds an ordinary user's processes. It does not run beside the other tests: with
// Landlock the limit is the user's count at the start and 60 more, and every process
// of the count that ends meanwhile makes room.
func TestProcessesAreBoundedForUsers(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root has control groups")
	}
	for _, level := range levels {
		t.Run(level, func(t *testing.T) {
			b := setup(t, level)
			b.spec.Limits = sandbox.Limits{PIDs: 60}
			s := b.start(t)
			a := sh(t, s, `i=0; while [ $i -lt 300 ]; do sleep 1000 >/dev/null 2>&1 & i=$((i+1)); done; echo all`)
			if strings.Contains(a.Out, "all") {
				t.Error("300 processes were made with a limit of 60")
			}
			must.Report(t, s.Stop(t.Context()))
		})
	}
}

// TestMemoryIsBoundedForUsers: where there is no control group, the largest process of
// a sandbox that uses too much is killed, and its parent goes on.
func TestMemoryIsBoundedForUsers(t *testing.T) {
	t.Parallel()
	for _, level := range levels {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			b := setup(t, level)
			b.spec.Limits = sandbox.Limits{MemoryBytes: 400 << 20}
			s := b.start(t)
			if !slices.Contains(s.Report().Features, "memory-watch") {
				t.Skip("a control group bounds the memory")
			}
			const take = `import os, sys, time
b = b"x" * (%d << 20)
for i in range(%d): # which share it
	if os.fork() == 0: break
time.sleep(%s)
print("held")`
			python := tool(t, "python3")
			if a := ask(t, s, request{Argv: []string{python, "-c", fmt.Sprintf(take, 150, 4, "0.5")}}); strings.Count(a.Out, "held") != 5 {
				t.Errorf("five processes that share 150 MB: %q, code %d", a.Out, a.Code)
			}
			if a := ask(t, s, request{Argv: []string{python, "-c", fmt.Sprintf(take, 700, 0, "60")}}); strings.Contains(a.Out, "held") || a.Code == 0 {
				t.Errorf("700 MB were held with a limit of 400: %q, code %d", a.Out, a.Code)
			}
			if a := sh(t, s, "echo on"); a.Out != "on\n" {
				t.Errorf("then: %q", a.Out)
			}
			logs, err := os.ReadFile(filepath.Join(b.dir, "one/log"))
			if err != nil || !strings.Contains(string(logs), "killed the largest process") {
				t.Errorf("the log: %q, %v", logs, err)
			}
		})
	}
}
