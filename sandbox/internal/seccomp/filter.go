// Package seccomp refuses the system calls that lead out of a sandbox, or into parts of
// the kernel that no development tool needs: namespaces, mounts, tracing, modules,
// rarely used kinds of sockets, files that run with their owner's rights, typing into
// terminals, and signals to process 1, the sandbox's program.
//
// # Usage
//
// The first stage of every sandbox on this machine calls [Load] as the last thing
// before it becomes the sandbox's program: a loaded filter cannot be taken back,
// and holds for all that the program starts. In containers it adds to the engine's
// own filter; the stricter answer wins.
//
// # Concurrency and failure
//
// The filter holds for the calling thread, which must be locked and then executes. A
// first stage that cannot load it must not go on.
package seccomp

import (
	"math"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Offsets in struct seccomp_data, seccomp(2), on a little-endian machine: the
// low half of an argument comes first.
const (
	dataNr   = 0
	dataArch = 4
	dataArgs = 16
)

const namespaceFlags = unix.CLONE_NEWNS | unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
	unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

// refused are system calls that act on the machine, or widen the exposed part of
// the kernel, and that no development tool needs. They fail with EPERM.
var refused = append([]int{
	unix.SYS_ACCT, unix.SYS_ADD_KEY, unix.SYS_ADJTIMEX, unix.SYS_BPF, unix.SYS_CHROOT,
	unix.SYS_CLOCK_ADJTIME, unix.SYS_CLOCK_SETTIME, unix.SYS_DELETE_MODULE,
	unix.SYS_FANOTIFY_INIT, unix.SYS_FINIT_MODULE, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT,
	unix.SYS_FSOPEN, unix.SYS_FSPICK, unix.SYS_INIT_MODULE, unix.SYS_KEXEC_FILE_LOAD,
	unix.SYS_KEXEC_LOAD, unix.SYS_KEYCTL, unix.SYS_LOOKUP_DCOOKIE, unix.SYS_MOUNT,
	unix.SYS_MOUNT_SETATTR, unix.SYS_MOVE_MOUNT, unix.SYS_NFSSERVCTL, unix.SYS_OPEN_BY_HANDLE_AT,
	unix.SYS_OPEN_TREE, unix.SYS_PERF_EVENT_OPEN, unix.SYS_PIDFD_GETFD, unix.SYS_PIVOT_ROOT,
	unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_REBOOT, unix.SYS_REQUEST_KEY,
	unix.SYS_SETDOMAINNAME, unix.SYS_SETHOSTNAME, unix.SYS_SETNS, unix.SYS_SETTIMEOFDAY,
	unix.SYS_SWAPOFF, unix.SYS_SWAPON, unix.SYS_SYSLOG, unix.SYS_UMOUNT2, unix.SYS_USERFAULTFD,
	unix.SYS_VHANGUP,
}, refusedHere...)

// unsupported are system calls that fail with ENOSYS, as in a kernel without them:
// programs have an alternative. clone3 and openat2 are among them because their flags
// are in memory, which a filter cannot read.
var unsupported = []int{
	unix.SYS_CLONE3, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, unix.SYS_IO_URING_SETUP, unix.SYS_OPENAT2,
	unix.SYS_FILE_SETATTR, // as FS_IOC_FSSETXATTR
}

// shared are system calls for resources that all processes of a user share where
// there is no IPC namespace.
var shared = []int{
	unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK, unix.SYS_MSGCTL, unix.SYS_MSGGET, unix.SYS_MSGRCV, unix.SYS_MSGSND,
	unix.SYS_SEMCTL, unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_SHMGET,
}

// modeArg says which argument of a system call has the mode of a file, and which its
// flags: without O_CREAT the mode is not used. flags is -1 for none.
type modeArg struct{ nr, mode, flags int }

var modeArgs = append([]modeArg{
	{unix.SYS_FCHMOD, 1, -1}, {unix.SYS_FCHMODAT, 2, -1}, {unix.SYS_FCHMODAT2, 2, -1}, {unix.SYS_MKNODAT, 2, -1}, {unix.SYS_OPENAT, 3, 2},
}, modeArgsHere...)

// assembler builds a classic BPF program.
type assembler []unix.SockFilter

func (a *assembler) stmt(code uint16, k uint32) {
	*a = append(*a, unix.SockFilter{Code: code, K: k})
}

func (a *assembler) jump(cond uint16, k uint32, yes, no uint8) {
	*a = append(*a, unix.SockFilter{Code: unix.BPF_JMP | cond | unix.BPF_K, Jt: yes, Jf: no, K: k})
}

func (a *assembler) load(offset uint32) { a.stmt(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, offset) }

func (a *assembler) ret(action uint32) { a.stmt(unix.BPF_RET|unix.BPF_K, action) }

func (a *assembler) fail(errno uint32) { a.ret(unix.SECCOMP_RET_ERRNO | errno) }

func (a *assembler) allow() { a.ret(unix.SECCOMP_RET_ALLOW) }

// on runs body, which must end by returning, for the system call nr; the
// accumulator holds the number before and after.
func (a *assembler) on(nr int, body func(*assembler)) {
	var b assembler
	body(&b)
	a.jump(unix.BPF_JEQ, uint32(nr), 0, uint8(len(b)))
	*a = append(*a, b...)
}

// filter returns the program. closed is for the level without namespaces, network
// whether commands there have a proxy to the network.
func filter(closed, network bool) []unix.SockFilter {
	var a assembler
	a.load(dataArch)
	a.jump(unix.BPF_JEQ, auditArch, 1, 0)
	a.fail(uint32(unix.ENOSYS)) // another architecture's numbers mean other calls
	a.load(dataNr)
	if runtime.GOARCH == "amd64" {
		const x32 = 0x40000000
		a.jump(unix.BPF_JGE, x32, 0, 1)
		a.fail(uint32(unix.ENOSYS))
	}
	for _, nr := range unsupported {
		a.on(nr, func(b *assembler) { b.fail(uint32(unix.ENOSYS)) })
	}
	for _, nr := range refused {
		a.on(nr, func(b *assembler) { b.fail(uint32(unix.EPERM)) })
	}
	a.on(unix.SYS_CLONE, func(b *assembler) { refuseFlags(b, namespaceFlags) })
	a.on(unix.SYS_UNSHARE, func(b *assembler) { refuseFlags(b, namespaceFlags|unix.CLONE_NEWTIME) })
	a.on(unix.SYS_IOCTL, filterIoctl)
	a.on(unix.SYS_PERSONALITY, filterPersonality)
	a.on(unix.SYS_SOCKET, func(b *assembler) { filterSocket(b, closed, network) })
	a.on(unix.SYS_SOCKETPAIR, func(b *assembler) {
		b.load(dataArgs)
		b.jump(unix.BPF_JEQ, unix.AF_UNIX, 1, 0)
		b.fail(uint32(unix.EAFNOSUPPORT))
		b.allow()
	})
	for _, m := range modeArgs {
		a.on(m.nr, func(b *assembler) { refuseSetID(b, m) })
	}
	refuseOthers(&a)
	if closed {
		for _, nr := range shared {
			a.on(nr, func(b *assembler) { b.fail(uint32(unix.ENOSYS)) })
		}
		filterTCP(&a)
	} else {
		protectFirst(&a)
	}
	a.allow()
	return a
}

// protectFirst keeps signals from process 1, the action server. The kernel
// itself drops only those that it has no handler for, and Go's runtime has one
// for nearly all. Go needs SIGURG to itself. Descriptors of processes cannot
// be inspected, so sending by them is ENOSYS, whereupon Go and others use kill.
func protectFirst(a *assembler) {
	a.on(unix.SYS_PIDFD_SEND_SIGNAL, func(b *assembler) { b.fail(uint32(unix.ENOSYS)) })
	for _, nr := range []int{unix.SYS_KILL, unix.SYS_TKILL, unix.SYS_RT_SIGQUEUEINFO} {
		a.on(nr, func(b *assembler) {
			b.load(dataArgs)
			b.jump(unix.BPF_JEQ, 1, 0, 1)
			b.fail(uint32(unix.EPERM))
			b.allow()
		})
	}
	for _, nr := range []int{unix.SYS_TGKILL, unix.SYS_RT_TGSIGQUEUEINFO} {
		a.on(nr, func(b *assembler) {
			b.load(dataArgs)
			b.jump(unix.BPF_JEQ, 1, 0, 3)
			b.load(dataArgs + 16)
			b.jump(unix.BPF_JEQ, uint32(unix.SIGURG), 1, 0)
			b.fail(uint32(unix.EPERM))
			b.allow()
		})
	}
}

// argument is the offset of the low half of an argument.
func argument(i int) uint32 { return dataArgs + 8*uint32(i) }

// refuseSetID refuses files that run with their owner's rights: another user may run
// them outside of the sandbox.
func refuseSetID(b *assembler, m modeArg) {
	if m.flags >= 0 {
		const creates = unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY
		b.load(argument(m.flags))
		b.jump(unix.BPF_JSET, creates, 0, 3)
	}
	b.load(argument(m.mode))
	b.jump(unix.BPF_JSET, unix.S_ISUID|unix.S_ISGID, 0, 1)
	b.fail(uint32(unix.EPERM))
	b.allow()
}

// refuseOthers refuses changes of the limits, the scheduling and the priority of
// other processes: the action server, and the host's where they can be seen. A
// process may name itself by 0 only.
func refuseOthers(a *assembler) {
	a.on(unix.SYS_PRLIMIT64, func(b *assembler) {
		b.load(argument(0))
		b.jump(unix.BPF_JEQ, 0, 5, 0)
		b.load(argument(2)) // the new limit: nil for a query
		b.jump(unix.BPF_JEQ, 0, 0, 2)
		b.load(argument(2) + 4)
		b.jump(unix.BPF_JEQ, 0, 1, 0)
		b.fail(uint32(unix.EPERM))
		b.allow()
	})
	// Threads are given the ordinary scheduling by their ids: libzmq, and with it Jupyter, ends
	// the process if that fails.
	a.on(unix.SYS_SCHED_SETSCHEDULER, func(b *assembler) {
		b.load(argument(0))
		b.jump(unix.BPF_JEQ, 0, 3, 0)
		b.load(argument(1))
		b.jump(unix.BPF_JEQ, unix.SCHED_NORMAL, 1, 0)
		b.fail(uint32(unix.EPERM))
		b.allow()
	})
	for _, nr := range []int{unix.SYS_SCHED_SETAFFINITY, unix.SYS_SCHED_SETATTR, unix.SYS_SCHED_SETPARAM} {
		a.on(nr, func(b *assembler) {
			b.load(argument(0))
			b.jump(unix.BPF_JEQ, 0, 1, 0)
			b.fail(uint32(unix.EPERM))
			b.allow()
		})
	}
	const ioprioUser = 3 // IOPRIO_WHO_USER, ioprio_set(2)
	for nr, user := range map[int]uint32{unix.SYS_SETPRIORITY: unix.PRIO_USER, unix.SYS_IOPRIO_SET: ioprioUser} {
		a.on(nr, func(b *assembler) {
			b.load(argument(0))
			b.jump(unix.BPF_JEQ, user, 2, 0)
			b.load(argument(1))
			b.jump(unix.BPF_JEQ, 0, 1, 0)
			b.fail(uint32(unix.EPERM))
			b.allow()
		})
	}
}

func refuseFlags(b *assembler, flags uint32) {
	b.load(dataArgs)
	b.jump(unix.BPF_JSET, flags, 0, 1)
	b.fail(uint32(unix.EPERM))
	b.allow()
}

// Requests of ioctl(2) that package unix has no names for.
const (
	fsSetXAttr   = 0x401c5820 // FS_IOC_FSSETXATTR
	setFlags32   = 0x40046602 // FS_IOC32_SETFLAGS
	cloneRange   = 0x4020940d // FICLONERANGE
	typeMask     = 0xff00     // of the letter that tells file systems and drivers apart
	btrfsRequest = 0x9400
)

// filterIoctl refuses typing into a terminal that others read, and whatever takes files out
// of the quota that limits a container's disk: another project id of XFS and ext4, also by
// flags, and subvolumes and groups of btrfs. Copies that share blocks have the letter of
// btrfs on all file systems. Like the kernel it checks only the low half of the request.
func filterIoctl(b *assembler) {
	b.load(dataArgs + 8)
	for _, of := range []struct {
		action   uint32
		requests []uint32
	}{
		{unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM), []uint32{unix.TIOCSTI, unix.TIOCLINUX}},
		{unix.SECCOMP_RET_ERRNO | uint32(unix.ENOTTY), []uint32{fsSetXAttr, unix.FS_IOC_SETFLAGS, setFlags32}},
		{unix.SECCOMP_RET_ALLOW, []uint32{unix.FICLONE, cloneRange, unix.FIDEDUPERANGE}},
	} {
		for _, r := range of.requests {
			b.jump(unix.BPF_JEQ, r, 0, 1)
			b.ret(of.action)
		}
	}
	b.stmt(unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, typeMask)
	b.jump(unix.BPF_JEQ, btrfsRequest, 0, 1)
	b.fail(uint32(unix.ENOTTY))
	b.allow()
}

// filterPersonality allows queries, and turning address randomization off as
// debuggers do.
func filterPersonality(b *assembler) {
	const noRandomize, linux32 = 0x0040000, 8
	b.load(dataArgs)
	for i, v := range []uint32{0, noRandomize, linux32, math.MaxUint32} {
		b.jump(unix.BPF_JEQ, v, uint8(4-i), 0)
	}
	b.fail(uint32(unix.EPERM))
	b.allow()
}

// Load applies the filter to this thread and all it executes. The thread must have set
// no_new_privs. closed is for sandboxes without namespaces of their own, network says
// whether commands in such a one have a proxy to the network. Errors are the system's.
func Load(closed, network bool) error {
	f := filter(closed, network)
	prog := unix.SockFprog{Len: uint16(len(f)), Filter: &f[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(f)
	if errno != 0 {
		return errno
	}
	return nil
}
