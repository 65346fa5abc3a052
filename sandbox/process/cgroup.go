package process

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/sandbox"
)

const (
	cgroupRoot   = "/sys/fs/cgroup"
	cgroupPrefix = "deft-"
	cpuPeriod    = 100_000 // microseconds
)

// limit is one controller's setting, for both versions of control groups.
type limit struct {
	controller string
	v1, v2     [][2]string // file and value
	optional   string      // a file that some kernels do not have
}

func cgroupLimits(l sandbox.Limits) []limit {
	all := []limit{{controller: "freezer"}}
	if n := l.MemoryBytes; n > 0 {
		v := strconv.FormatInt(n, 10)
		all = append(all, limit{
			controller: "memory",
			v1:         [][2]string{{"memory.limit_in_bytes", v}, {"memory.memsw.limit_in_bytes", v}},
			v2:         [][2]string{{"memory.max", v}, {"memory.swap.max", "0"}},
			optional:   "memory.memsw.limit_in_bytes memory.swap.max",
		})
	}
	if l.PIDs > 0 {
		v := [][2]string{{"pids.max", strconv.Itoa(l.PIDs)}}
		all = append(all, limit{controller: "pids", v1: v, v2: v})
	}
	if l.CPUs > 0 {
		quota := strconv.Itoa(int(math.Max(1000, l.CPUs*cpuPeriod)))
		all = append(all, limit{
			controller: "cpu",
			v1:         [][2]string{{"cpu.cfs_period_us", strconv.Itoa(cpuPeriod)}, {"cpu.cfs_quota_us", quota}},
			v2:         [][2]string{{"cpu.max", quota + " " + strconv.Itoa(cpuPeriod)}},
		})
	}
	return all
}

// cgroupName returns a name that differs for the same id under another Dir.
func (p *Provider) cgroupName(id string) string {
	h := fnv.New64a()
	h.Write([]byte(p.dir(id)))
	return fmt.Sprintf("%s%s-%x", cgroupPrefix, id, h.Sum64())
}

// group is a control group of a sandbox.
type group struct {
	controller string
	dir        string // "" if there is none
	v2         bool
	late       bool  // to be entered after the fork
	err        error // why it does not bound the sandbox
}

// makeGroups makes control groups with the limits. One that cannot be made, or without
// its limit, says so in err.
func makeGroups(name string, l sandbox.Limits) []group {
	b, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		b = nil // then no controller is found
	}
	var all []group
	for _, lim := range cgroupLimits(l) {
		g := group{controller: lim.controller}
		g.dir, g.v2, g.err = lim.make(string(b), name)
		all = append(all, g)
	}
	return all
}

// record notes in st which groups there are, and which resources are not bounded.
func record(groups []group, st *state) {
	for _, g := range groups {
		if g.dir != "" && !slices.Contains(st.Cgroups, g.dir) { // version 2 has one for all
			st.Cgroups = append(st.Cgroups, g.dir)
		}
		if g.err != nil {
			st.Report.Missing = append(st.Report.Missing, sandbox.Missing{Feature: "cgroup-" + g.controller, Reason: g.err.Error()})
			continue
		}
		st.Report.Features = append(st.Report.Features, "cgroup-"+g.controller)
	}
}

// make returns the group's directory as soon as it exists, even with an error.
func (l limit) make(self, name string) (dir string, v2 bool, err error) {
	parent, v2 := cgroupParent(self, l.controller)
	if parent == "" {
		return "", false, errors.New("the host has no such control group")
	}
	dir = filepath.Join(parent, name)
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", v2, fmt.Errorf("make control group: %w", err)
	}
	settings := l.v1
	if v2 {
		settings = l.v2
	}
	for _, s := range settings {
		err := os.WriteFile(filepath.Join(dir, s[0]), []byte(s[1]), 0o644)
		if err != nil && !(strings.Contains(l.optional, s[0]) && errors.Is(err, fs.ErrPermission)) &&
			!(strings.Contains(l.optional, s[0]) && errors.Is(err, fs.ErrNotExist)) {
			return dir, v2, fmt.Errorf("set control group: %w", err)
		}
	}
	return dir, v2, nil
}

// forkInto starts a process that is in the groups from its first moment, or at least
// before it gets its plan; their err says where that failed. Moving it in afterwards takes
// ten milliseconds: the kernel waits until no process of the machine forks or ends (a grace
// period of RCU). A process is born into version 2 by a flag of clone3(2), and into version 1 by its being
// the group of the thread that forks: a thread that moves itself is not waited for.
func forkInto(groups []group, path string, argv []string, attr *syscall.ProcAttr) (pid int, err error) {
	onThreadThatEnds(func() {
		leave := bornInto(groups, attr)
		pid, err = syscall.ForkExec(path, argv, attr)
		leave()
		if err != nil && attr.Sys.UseCgroupFD { // if something else failed, this fails as well
			attr.Sys.UseCgroupFD = false
			for i := range groups {
				groups[i].late = groups[i].late || groups[i].v2
			}
			pid, err = syscall.ForkExec(path, argv, attr)
		}
	})
	if err != nil {
		return 0, err
	}
	moved := map[string]error{} // version 2 has one for all
	for i, g := range groups {
		if !g.late || g.err != nil {
			continue
		}
		err, ok := moved[g.dir]
		if !ok {
			err = os.WriteFile(filepath.Join(g.dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0o644)
			moved[g.dir] = err
		}
		if err != nil {
			groups[i].err = fmt.Errorf("enter control group: %w", err)
		}
	}
	return pid, nil
}

// bornInto prepares this thread and attr for a fork into the groups. Groups that this is
// impossible for are marked late. leave is for after the fork: whoever removes a group
// kills its processes, and must not find this process there.
func bornInto(groups []group, attr *syscall.ProcAttr) (leave func()) {
	fd := -1
	for i, g := range groups {
		switch {
		case g.err != nil || g.v2 && attr.Sys.UseCgroupFD:
		case g.v2:
			var err error
			if fd, err = unix.Open(g.dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err != nil {
				groups[i].late = true
				continue
			}
			attr.Sys.UseCgroupFD, attr.Sys.CgroupFD = true, fd
		default:
			groups[i].late = enterWithThread(g.dir) != nil
		}
	}
	return func() {
		if fd >= 0 {
			unix.Close(fd)
		}
		for _, g := range groups {
			if g.err == nil && !g.v2 && !g.late {
				_ = enterWithThread(filepath.Dir(g.dir)) // else it leaves when it ends, in a moment
			}
		}
	}
}

// enterWithThread moves the calling thread into a group of version 1.
func enterWithThread(dir string) error {
	return os.WriteFile(filepath.Join(dir, "tasks"), []byte("0"), 0o644)
}

// onThreadThatEnds calls f on a thread that ends afterwards, with whatever f has changed
// about it.
func onThreadThatEnds(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() { // the first one does not end before the process
			onThreadThatEnds(f)
			runtime.UnlockOSThread()
			return
		}
		f()
	}()
	<-done
}

// cgroupParent finds the directory in which to make a group with that controller.
// In version 1 that is the group we are in. In version 2 a group with
// processes cannot pass controllers on, so it is the one above, which systemd
// delegates to the user in a session.
func cgroupParent(self, controller string) (dir string, v2 bool) {
	for line := range strings.Lines(self) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) != 3 {
			continue
		}
		for name := range strings.SplitSeq(f[1], ",") {
			if name == controller {
				return nearest(filepath.Join(cgroupRoot, f[1]), f[2]), false
			}
		}
		var fst unix.Statfs_t
		if f[0] == "0" && unix.Statfs(cgroupRoot, &fst) == nil && fst.Type == unix.CGROUP2_SUPER_MAGIC {
			return nearest(cgroupRoot, filepath.Dir(f[2])), true
		}
	}
	return "", false
}

// nearest returns base/path, or base where a container shows only its own part
// of the hierarchy, in which the path does not exist.
func nearest(base, path string) string {
	if dir := filepath.Join(base, path); exists(dir) {
		return dir
	}
	return base
}

// emptyTimeout bounds the wait for the kernel to take ended processes out of their
// groups, which it does a moment after they are reported to have ended.
const emptyTimeout = 3 * time.Second

// removeCgroups removes the groups of a sandbox that has ended. Processes left in
// them, because there was no PID namespace and its first process was killed, are
// killed.
func removeCgroups(dirs []string) error {
	var errs error
	deadline := time.Now().Add(emptyTimeout)
	for _, d := range dirs {
		err := unix.Rmdir(d)
		for wait := time.Millisecond; err == unix.EBUSY && time.Now().Before(deadline); wait *= 2 {
			killMembers(d)
			time.Sleep(wait)
			err = unix.Rmdir(d)
		}
		if err != nil && err != unix.ENOENT {
			errs = errors.Join(errs, fmt.Errorf("remove control group %s: %w", d, err))
		}
	}
	return errs
}

// killMembers kills the processes of a group. One that cannot be read or has ended
// meanwhile shows in whether the group can be removed.
func killMembers(dir string) {
	b, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		return
	}
	for field := range strings.FieldsSeq(string(b)) {
		// A thread of this process can be there, see forkInto.
		if pid, err := strconv.Atoi(field); err == nil && pid > 1 && pid != os.Getpid() {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
}
