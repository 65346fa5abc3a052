package process_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/deft-dev/deft/sandbox"
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

func TestForkBombIsBounded(t *testing.T) {
	t.Parallel()
	s := limited(t, sandbox.Limits{PIDs: 60}, "cgroup-pids")
	a := sh(t, s, `i=0; while [ $i -lt 200 ]; do sleep 1000 >/dev/null 2>&1 & i=$((i+1)); done; echo all`)
	if strings.Contains(a.Out, "all") {
		t.Error("200 processes were made with a limit of 60")
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
	var st struct{ Cgroups []string }
	if err := json.Unmarshal(data, &st); err != nil {
		t.Fatal(err)
	}
	if len(st.Cgroups) == 0 {
		if os.Getenv("CI") == "true" && os.Getuid() == 0 {
			t.Fatalf("root gets no cgroup: %+v", s.Report().Missing)
		}
		t.Skipf("this host has none to give: %+v", s.Report().Missing)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, dir := range st.Cgroups {
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("%s: %v", dir, err)
		}
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

// TestDefaultLimits: a sandbox whose starter names no limits has some all the same.
func TestDefaultLimits(t *testing.T) {
	t.Parallel()
	for _, level := range levels {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			b := setup(t, level)
			s := b.start(t)
			if a := sh(t, s, `test "$(ulimit -Hn)" -le 65536 && echo bounded`); a.Out != "bounded\n" {
				t.Errorf("descriptors: %q", a.Out)
			}
			rep := s.Report()
			for _, feature := range []string{"cgroup-pids", "cgroup-memory"} {
				var why string
				for _, m := range rep.Missing {
					if m.Feature == feature {
						why = m.Reason
					}
				}
				if (why == "") != slices.Contains(rep.Features, feature) {
					t.Errorf("%s: features %q, missing because %q", feature, rep.Features, why)
				}
				if why != "" && !strings.Contains(why, "not bounded") && !strings.Contains(why, "stands in") {
					t.Errorf("%s: %q does not say what is not bounded", feature, why)
				}
			}
			if level == process.LevelLandlock {
				return
			}
			const open = `import ctypes
libc = ctypes.CDLL(None)
n = 0
while n < 100000 and libc.inotify_init() >= 0: n += 1
print(n)`
			raw, err := os.ReadFile("/proc/sys/fs/inotify/max_user_instances")
			if err != nil {
				t.Fatal(err)
			}
			all, err := strconv.Atoi(strings.TrimSpace(string(raw)))
			if err != nil {
				t.Fatal(err)
			}
			a := ask(t, s, request{Argv: []string{tool(t, "python3"), "-c", open}})
			if got, err := strconv.Atoi(strings.TrimSpace(a.Out)); err != nil || got > all/2 {
				t.Errorf("%q of %d inotify instances could be taken", a.Out, all)
			}
		})
	}
}

// TestProcessesAreBoundedForUsers: where there is no control group, a resource limit
// bounds an ordinary user's processes.
func TestProcessesAreBoundedForUsers(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 {
		t.Skip("root has control groups")
	}
	for _, level := range levels {
		t.Run(level, func(t *testing.T) {
			t.Parallel()
			b := setup(t, level)
			b.spec.Limits = sandbox.Limits{PIDs: 60}
			s := b.start(t)
			a := sh(t, s, `i=0; while [ $i -lt 300 ]; do sleep 1000 >/dev/null 2>&1 & i=$((i+1)); done; echo all`)
			if strings.Contains(a.Out, "all") {
				t.Error("300 processes were made with a limit of 60")
			}
			if err := s.Stop(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}
