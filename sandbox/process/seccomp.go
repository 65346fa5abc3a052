package process

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

// refused are system calls that act on the machine, or widen what the kernel
// exposes, and that no development tool needs. They fail with EPERM.
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
// programs have an alternative. clone3 is among them because its flags are in
// memory, which a filter cannot read.
var unsupported = []int{
	unix.SYS_CLONE3, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, unix.SYS_IO_URING_SETUP,
}

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
	if closed {
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

func refuseFlags(b *assembler, flags uint32) {
	b.load(dataArgs)
	b.jump(unix.BPF_JSET, flags, 0, 1)
	b.fail(uint32(unix.EPERM))
	b.allow()
}

// filterIoctl refuses typing into a terminal that others read. Like the kernel it
// checks only the low half of the request.
func filterIoctl(b *assembler) {
	b.load(dataArgs + 8)
	b.jump(unix.BPF_JEQ, unix.TIOCSTI, 1, 0)
	b.jump(unix.BPF_JEQ, unix.TIOCLINUX, 0, 1)
	b.fail(uint32(unix.EPERM))
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

// loadFilter applies the filter to this thread and all it executes.
func loadFilter(closed, network bool) error {
	f := filter(closed, network)
	prog := unix.SockFprog{Len: uint16(len(f)), Filter: &f[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(f)
	if errno != 0 {
		return errno
	}
	return nil
}
