package sandboxtest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/internal/must"
)

// attackArg makes the test binary a command that attacks the kernel's borders of
// the sandbox; it prints an attempted per line.
const attackArg = "sandboxtest-attack"

// attempted is one attempt and the system's answer.
type attempted struct {
	Name  string
	Errno syscall.Errno
}

// attacker makes attempts. Victim is a process outside.
type attacker struct {
	victim  int
	results []attempted
}

// refusals are answers of a filter, of missing rights and of hidden files. Others,
// as EINVAL and EFAULT, mean that the call reached its implementation.
var refusals = []syscall.Errno{
	unix.EPERM, unix.EACCES, unix.ENOSYS, unix.EAFNOSUPPORT, unix.ESRCH, unix.ENOENT, unix.EROFS, unix.ENXIO, unix.ENODEV,
}

// ofOwnKernel are answers of a kernel that is not the host's: its devices lead nowhere
// without rights that commands do not have.
var ofOwnKernel = []attempted{
	{"/proc/server/ns/net", 0}, {"open /dev/fuse", 0}, {"open /dev/net/tun", 0}, {"setcap", unix.EOPNOTSUPP},
}

// try notes the answer to a system call.
func (a *attacker) try(name string, nr uintptr, args ...uintptr) uintptr {
	var six [6]uintptr
	copy(six[:], args)
	r, _, errno := unix.RawSyscall6(nr, six[0], six[1], six[2], six[3], six[4], six[5])
	a.results = append(a.results, attempted{name, errno})
	return r
}

// note records the error of an attempt that takes more than one call.
func (a *attacker) note(name string, err error) {
	errno, ok := errors.AsType[syscall.Errno](err)
	if err != nil && !ok {
		errno = unix.EIO // not a refusal: the test must look at it
	}
	a.results = append(a.results, attempted{name, errno})
}

// text is a C string for a system call.
func text(s string) uintptr {
	b, err := unix.BytePtrFromString(s)
	if err != nil {
		panic(err)
	}
	kept = append(kept, b)
	return uintptr(unsafe.Pointer(b))
}

// buffer is zeroed memory for a system call.
func buffer(n int) uintptr {
	b := make([]byte, n)
	kept = append(kept, &b[0])
	return uintptr(unsafe.Pointer(&b[0]))
}

// kept are the arguments whose addresses the kernel was given.
var kept []*byte

const (
	ptraceSeize  = 0x4206
	atFDCWD      = ^uintptr(99)
	openTreeCopy = 1
)

// processes attacks the action server and a process of the host.
func (a *attacker) processes() {
	for name, pid := range map[string]int{"server": os.Getppid(), "host": a.victim} {
		a.try("ptrace "+name, unix.SYS_PTRACE, ptraceSeize, uintptr(pid), 0, 0)
		var memory [8]byte
		local := unix.Iovec{Base: &memory[0]}
		local.SetLen(len(memory))
		a.try("process_vm_readv "+name, unix.SYS_PROCESS_VM_READV, uintptr(pid), uintptr(unsafe.Pointer(&local)), 1, uintptr(unsafe.Pointer(&local)), 1, 0)
		a.try("process_vm_writev "+name, unix.SYS_PROCESS_VM_WRITEV, uintptr(pid), uintptr(unsafe.Pointer(&local)), 1, uintptr(unsafe.Pointer(&local)), 1, 0)
		a.try("kcmp "+name, unix.SYS_KCMP, uintptr(os.Getpid()), uintptr(pid), 0, 0, 0)
		fd, err := unix.PidfdOpen(pid, 0)
		if err == nil {
			_, err = unix.PidfdGetfd(fd, 0, 0)
		}
		a.note("pidfd_getfd "+name, err)
		limit := unix.Rlimit{Cur: 1, Max: 1}
		a.try("prlimit "+name, unix.SYS_PRLIMIT64, uintptr(pid), unix.RLIMIT_FSIZE, uintptr(unsafe.Pointer(&limit)), 0)
		processors := uint64(1)
		a.try("sched_setaffinity "+name, unix.SYS_SCHED_SETAFFINITY, uintptr(pid), 8, uintptr(unsafe.Pointer(&processors)))
		priority := int32(0)
		a.try("sched_setscheduler "+name, unix.SYS_SCHED_SETSCHEDULER, uintptr(pid), unix.SCHED_IDLE, uintptr(unsafe.Pointer(&priority)))
		a.try("setpriority "+name, unix.SYS_SETPRIORITY, unix.PRIO_PROCESS, uintptr(pid), 19)
		a.try("ioprio_set "+name, unix.SYS_IOPRIO_SET, 1, uintptr(pid), 3<<13)
		a.note("oom_score_adj "+name, unwrap(os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", pid), []byte("1000"), 0)))
		for _, file := range []string{"mem", "environ", "maps", "fd/0", "root", "cwd", "ns/net"} {
			_, err := os.Open(fmt.Sprintf("/proc/%d/%s", pid, file))
			a.note("/proc/"+name+"/"+file, unwrap(err))
		}
	}
}

func unwrap(err error) error {
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		return errno
	}
	return err
}

// namespaces tries to get a namespace of its own, or another's.
func (a *attacker) namespaces() {
	for name, flag := range map[string]uintptr{
		"user": unix.CLONE_NEWUSER, "mount": unix.CLONE_NEWNS, "pid": unix.CLONE_NEWPID, "net": unix.CLONE_NEWNET,
		"ipc": unix.CLONE_NEWIPC, "uts": unix.CLONE_NEWUTS, "cgroup": unix.CLONE_NEWCGROUP, "time": unix.CLONE_NEWTIME,
	} {
		a.try("unshare "+name, unix.SYS_UNSHARE, flag)
		if flag != unix.CLONE_NEWTIME { // its bit is part of clone's exit signal
			_, err := syscall.ForkExec("/bin/true", nil, &syscall.ProcAttr{Sys: &syscall.SysProcAttr{Cloneflags: flag}})
			a.note("clone "+name, err)
		}
	}
	args := [11]uint64{0: unix.CLONE_NEWUSER, 4: uint64(unix.SIGCHLD)}
	a.try("clone3", unix.SYS_CLONE3, uintptr(unsafe.Pointer(&args)), unsafe.Sizeof(args))
	fd, err := unix.Open("/proc/self/ns/user", unix.O_RDONLY, 0)
	if err == nil {
		a.try("setns", unix.SYS_SETNS, uintptr(fd), 0)
	}
}

// mounts uses the old and the new interface, and other roots.
func (a *attacker) mounts() {
	a.try("mount", unix.SYS_MOUNT, text("none"), text("/tmp"), text("tmpfs"), 0, 0)
	a.try("bind mount", unix.SYS_MOUNT, text("/"), text("/tmp"), 0, unix.MS_BIND|unix.MS_REC, 0)
	a.try("remount", unix.SYS_MOUNT, 0, text("/"), 0, unix.MS_REMOUNT|unix.MS_BIND, 0)
	a.try("umount", unix.SYS_UMOUNT2, text("/tmp"), unix.MNT_DETACH)
	a.try("open_tree", unix.SYS_OPEN_TREE, atFDCWD, text("/"), openTreeCopy)
	a.try("fsopen", unix.SYS_FSOPEN, text("tmpfs"), 0)
	a.try("fspick", unix.SYS_FSPICK, atFDCWD, text("/"), 0)
	a.try("fsmount", unix.SYS_FSMOUNT, 0, 0, 0)
	a.try("move_mount", unix.SYS_MOVE_MOUNT, atFDCWD, text("/"), atFDCWD, text("/tmp"), 0)
	a.try("mount_setattr", unix.SYS_MOUNT_SETATTR, atFDCWD, text("/"), 0, buffer(32), 32)
	a.try("chroot", unix.SYS_CHROOT, text("/tmp"))
	a.try("pivot_root", unix.SYS_PIVOT_ROOT, text("/tmp"), text("/tmp"))
}

// kernel uses interfaces with a history of vulnerabilities.
func (a *attacker) kernel() {
	a.try("bpf", unix.SYS_BPF, 0, buffer(128), 128)
	a.try("io_uring_setup", unix.SYS_IO_URING_SETUP, 1, buffer(120))
	a.try("keyctl", unix.SYS_KEYCTL, 0, ^uintptr(2), 1)
	a.try("add_key", unix.SYS_ADD_KEY, text("user"), text("x"), text("x"), 1, ^uintptr(2))
	a.try("request_key", unix.SYS_REQUEST_KEY, text("user"), text("x"), 0, ^uintptr(2))
	a.try("perf_event_open", unix.SYS_PERF_EVENT_OPEN, buffer(128), 0, ^uintptr(0), ^uintptr(0), 0)
	a.try("userfaultfd", unix.SYS_USERFAULTFD, 1)
	a.try("fanotify_init", unix.SYS_FANOTIFY_INIT, 0, 0)
	a.try("open_by_handle_at", unix.SYS_OPEN_BY_HANDLE_AT, atFDCWD, buffer(256), 0)
	a.try("init_module", unix.SYS_INIT_MODULE, buffer(8), 8, text(""))
	a.try("finit_module", unix.SYS_FINIT_MODULE, 0, text(""), 0)
	a.try("delete_module", unix.SYS_DELETE_MODULE, text("x"), 0)
	a.try("kexec_load", unix.SYS_KEXEC_LOAD, 0, 0, 0, 0)
	a.try("kexec_file_load", unix.SYS_KEXEC_FILE_LOAD, 0, 0, 0, text(""), 0)
	a.try("reboot", unix.SYS_REBOOT, 0, 0, 0)
	a.try("swapon", unix.SYS_SWAPON, text("/tmp/x"), 0)
	a.try("settimeofday", unix.SYS_SETTIMEOFDAY, buffer(16), 0)
	a.try("sethostname", unix.SYS_SETHOSTNAME, text("x"), 1)
	a.try("acct", unix.SYS_ACCT, text("/tmp/x"))
	a.try("quotactl", unix.SYS_QUOTACTL, 0, 0, 0, 0)
	a.try("syslog", unix.SYS_SYSLOG, 3, buffer(64), 64)
}

// sockets asks for families that nothing in a sandbox needs.
func (a *attacker) sockets() {
	for name, family := range map[string]int{
		"vsock": unix.AF_VSOCK, "packet": unix.AF_PACKET, "alg": unix.AF_ALG, "xdp": unix.AF_XDP, "tipc": unix.AF_TIPC,
		"key": unix.AF_KEY, "can": unix.AF_CAN, "bluetooth": unix.AF_BLUETOOTH, "rds": unix.AF_RDS, "smc": unix.AF_SMC,
	} {
		for _, kind := range []int{unix.SOCK_STREAM, unix.SOCK_DGRAM, unix.SOCK_RAW, unix.SOCK_SEQPACKET} {
			a.note(fmt.Sprintf("socket %s %d", name, kind), socketOf(family, kind, 0))
		}
	}
	a.note("socket raw", socketOf(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP))
	a.note("socket raw 6", socketOf(unix.AF_INET6, unix.SOCK_RAW, unix.IPPROTO_ICMPV6))
	for protocol := range 23 {
		if protocol != unix.NETLINK_ROUTE {
			a.note("netlink "+strconv.Itoa(protocol), socketOf(unix.AF_NETLINK, unix.SOCK_RAW, protocol))
		}
	}
}

func socketOf(family, kind, protocol int) error {
	fd, err := unix.Socket(family, kind, protocol)
	if err == nil {
		err = unix.Close(fd)
	}
	return err
}

// devices makes and opens device nodes, and types into a terminal.
func (a *attacker) devices() {
	for name, dev := range map[string]uint64{"mem": unix.Mkdev(1, 1), "sda": unix.Mkdev(8, 0), "kmsg": unix.Mkdev(1, 11), "fuse": unix.Mkdev(10, 229)} {
		a.note("mknod "+name, unix.Mknod("node-"+name, unix.S_IFCHR|0o600, int(dev)))
		a.note("mknod block "+name, unix.Mknod("block-"+name, unix.S_IFBLK|0o600, int(dev)))
	}
	for _, path := range []string{"/dev/mem", "/dev/kmsg", "/dev/kvm", "/dev/fuse", "/dev/sda", "/dev/vda", "/dev/net/tun", "/dev/uinput", "/dev/port"} {
		fd, err := unix.Open(path, unix.O_RDONLY, 0)
		if err == nil {
			err = unix.Close(fd)
		}
		a.note("open "+path, err)
	}
	pty, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		a.note("open /dev/ptmx", unwrap(err))
		return
	}
	defer pty.Close()
	c := buffer(1)
	a.try("TIOCSTI", unix.SYS_IOCTL, pty.Fd(), unix.TIOCSTI, c)
	a.try("TIOCSTI with high bits", unix.SYS_IOCTL, pty.Fd(), 1<<32|unix.TIOCSTI, c)
	a.try("TIOCLINUX", unix.SYS_IOCTL, pty.Fd(), unix.TIOCLINUX, c)
	// struct vfs_cap_data, revision 2, effective: every capability.
	all := []byte{1, 0, 0, 2, 255, 255, 255, 255, 0, 0, 0, 0, 255, 1, 0, 0, 0, 0, 0, 0}
	a.note("setcap", func() error {
		if err := os.WriteFile("program", nil, 0o700); err != nil {
			return err
		}
		return unix.Setxattr("program", "security.capability", all, 0)
	}())
}

// setID makes files that run with their owner's rights.
func (a *attacker) setID() {
	if err := os.WriteFile("plain", nil, 0o755); err != nil {
		a.note("a plain file", err)
	}
	for name, bits := range map[string]uint32{"user": unix.S_ISUID, "group": unix.S_ISGID} {
		mode := bits | 0o755
		a.note("chmod "+name, unix.Chmod("plain", mode))
		a.note("fchmodat "+name, unix.Fchmodat(unix.AT_FDCWD, "plain", mode, 0))
		a.note("fchmodat2 "+name, unix.Fchmodat(unix.AT_FDCWD, "plain", mode, unix.AT_SYMLINK_NOFOLLOW))
		fd, err := unix.Open("plain", unix.O_RDONLY, 0)
		if err == nil {
			err = errors.Join(unix.Fchmod(fd, mode), unix.Close(fd))
		}
		a.note("fchmod "+name, unwrap(err))
		_, err = unix.Open("opened-"+name, unix.O_CREAT|unix.O_WRONLY, mode)
		a.note("open "+name, err)
		_, err = unix.Openat2(unix.AT_FDCWD, "opened2-"+name, &unix.OpenHow{Flags: unix.O_CREAT | unix.O_WRONLY, Mode: uint64(mode)})
		a.note("openat2 "+name, err)
		_, err = unix.Creat("created-"+name, mode)
		a.note("creat "+name, err)
		a.note("mknod "+name, unix.Mknod("made-"+name, unix.S_IFREG|mode, 0))
	}
}

// shared uses resources that all processes of a user share outside of IPC
// namespaces.
func (a *attacker) shared() {
	a.try("shmget", unix.SYS_SHMGET, 0x1234, 4096, 0o1666)
	a.try("shmat", unix.SYS_SHMAT, 0, 0, 0)
	a.try("semget", unix.SYS_SEMGET, 0x1234, 1, 0o1666)
	a.try("msgget", unix.SYS_MSGGET, 0x1234, 0o1666)
	a.try("mq_open", unix.SYS_MQ_OPEN, text("x"), unix.O_CREAT|unix.O_RDWR, 0o600, 0)
}

// attack makes all attempts.
func attack(victim string) {
	pid, err := strconv.Atoi(victim)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if set, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); err != nil || set != 1 {
		fmt.Fprintln(os.Stderr, "not in a sandbox, where these calls would have effects")
		os.Exit(2)
	}
	a := attacker{victim: pid}
	a.processes()
	a.namespaces()
	a.mounts()
	a.kernel()
	a.sockets()
	a.devices()
	a.setID()
	if os.Getppid() != 1 {
		a.shared()
	}
	if err := json.NewEncoder(os.Stdout).Encode(a.results); err != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// victim starts a process of the host that its user may trace, unlike this one.
func victim(t *testing.T) (pid int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "cat")
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	must.Succeed(t, err)
	t.Cleanup(func() {
		stdin.Close()
		_ = cmd.Wait() // killed by the end of the test, or not
	})
	if _, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", cmd.Process.Pid)); err != nil {
		t.Error(err)
	}
	return cmd.Process.Pid
}

// kernelAttacks makes, as a command, system calls that lead out of a sandbox or into
// rarely used parts of the kernel: each is refused before it does anything.
func kernelAttacks(t *testing.T, f *fixture) {
	s := f.start(t)
	got := ask(t, s, request{Self: []string{attackArg, strconv.Itoa(victim(t))}})
	var results []attempted
	if err := json.NewDecoder(bufio.NewReader(strings.NewReader(got.Out))).Decode(&results); err != nil {
		t.Fatalf("%v: %s", err, got.Out)
	}
	if len(results) < 150 {
		t.Errorf("%d attempts", len(results))
	}
	for _, r := range results {
		if r.Name == "oom_score_adj server" && (s.Report().Level == "container" || f.workspaceOf != nil) && Shell(t, s, "id -u") == "0" {
			continue // docs/security.md: by design
		}
		if f.ownKernel && slices.Contains(ofOwnKernel, r) {
			continue
		}
		if !slices.Contains(refusals, r.Errno) {
			t.Errorf("%s: %v (%d)", r.Name, r.Errno, int(r.Errno))
		}
	}
	err := filepath.WalkDir(f.workspace(t, f.spec), func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0 {
			t.Errorf("%s has the mode %v", path, info.Mode())
		}
		return err
	})
	must.Report(t, err)
	if nodes, err := filepath.Glob(filepath.Join(f.workspace(t, f.spec), "*-*")); err != nil || len(nodes) > 0 {
		t.Errorf("device nodes %q, %v", nodes, err)
	}
}
