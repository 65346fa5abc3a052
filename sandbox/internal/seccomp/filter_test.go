package seccomp

import (
	"testing"

	"golang.org/x/sys/unix"
)

// run interprets the filter: it is data for the kernel, but the kernel of one
// machine cannot be given another architecture's calls.
func run(prog []unix.SockFilter, nr, arch uint32, args ...uint32) uint32 {
	data := make([]uint32, 16)
	data[0], data[1] = nr, arch
	for i, a := range args {
		data[4+2*i] = a
	}
	var acc uint32
	for pc := 0; ; pc++ {
		in := prog[pc]
		taken := false
		switch in.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			acc = data[in.K/4]
			continue
		case unix.BPF_ALU | unix.BPF_AND | unix.BPF_K:
			acc &= in.K
			continue
		case unix.BPF_RET | unix.BPF_K:
			return in.K
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K:
			taken = acc == in.K
		case unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K:
			taken = acc >= in.K
		case unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K:
			taken = acc&in.K != 0
		}
		if taken {
			pc += int(in.Jt)
		} else {
			pc += int(in.Jf)
		}
	}
}

func TestFilter(t *testing.T) {
	t.Parallel()
	const allow, arch386 = unix.SECCOMP_RET_ALLOW, unix.AUDIT_ARCH_I386
	refuse := func(e unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(e) }
	arch := uint32(unix.AUDIT_ARCH_X86_64)
	if unix.SYS_CLONE != 56 {
		arch = unix.AUDIT_ARCH_AARCH64
	}
	for _, c := range []struct {
		name            string
		closed, network bool
		nr, arch        uint32
		args            []uint32
		want            uint32
	}{
		{"read", false, false, unix.SYS_READ, arch, nil, allow},
		{"other architecture", false, false, unix.SYS_READ, arch386, nil, refuse(unix.ENOSYS)},
		{"mount", false, true, unix.SYS_MOUNT, arch, nil, refuse(unix.EPERM)},
		{"fork", false, false, unix.SYS_CLONE, arch, []uint32{17}, allow},
		{"thread", false, false, unix.SYS_CLONE, arch, []uint32{0x3d0f00}, allow},
		{"new user namespace", false, false, unix.SYS_CLONE, arch, []uint32{17 | unix.CLONE_NEWUSER}, refuse(unix.EPERM)},
		{"clone3", false, false, unix.SYS_CLONE3, arch, nil, refuse(unix.ENOSYS)},
		{"unshare files", false, false, unix.SYS_UNSHARE, arch, []uint32{unix.CLONE_FILES}, allow},
		{"unshare time", false, false, unix.SYS_UNSHARE, arch, []uint32{unix.CLONE_NEWTIME}, refuse(unix.EPERM)},
		{"terminal size", false, false, unix.SYS_IOCTL, arch, []uint32{0, unix.TIOCGWINSZ}, allow},
		{"terminal input", false, false, unix.SYS_IOCTL, arch, []uint32{0, unix.TIOCSTI}, refuse(unix.EPERM)},
		{"console", false, false, unix.SYS_IOCTL, arch, []uint32{0, unix.TIOCLINUX}, refuse(unix.EPERM)},
		{"project id", false, false, unix.SYS_IOCTL, arch, []uint32{3, 0x401c5820}, refuse(unix.ENOTTY)},
		{"project id by the newer call", false, false, unix.SYS_FILE_SETATTR, arch, nil, refuse(unix.ENOSYS)},
		{"ask for the project id", false, false, unix.SYS_IOCTL, arch, []uint32{3, 0x801c581f}, allow},
		{"flags of a file", false, false, unix.SYS_IOCTL, arch, []uint32{3, unix.FS_IOC_SETFLAGS}, refuse(unix.ENOTTY)},
		{"flags, 32 bits", false, false, unix.SYS_IOCTL, arch, []uint32{3, 0x40046602}, refuse(unix.ENOTTY)},
		{"ask for flags", false, false, unix.SYS_IOCTL, arch, []uint32{3, unix.FS_IOC_GETFLAGS}, allow},
		{"subvolume", false, false, unix.SYS_IOCTL, arch, []uint32{3, 0x5000940e}, refuse(unix.ENOTTY)},
		{"subvolume, second form", false, false, unix.SYS_IOCTL, arch, []uint32{3, 0x50009418}, refuse(unix.ENOTTY)},
		{"snapshot", false, false, unix.SYS_IOCTL, arch, []uint32{3, 0x50009401}, refuse(unix.ENOTTY)},
		{"limit of a group", false, false, unix.SYS_IOCTL, arch, []uint32{3, 0x8030942b}, refuse(unix.ENOTTY)},
		{"clone", false, false, unix.SYS_IOCTL, arch, []uint32{3, unix.FICLONE}, allow},
		{"clone a range", false, false, unix.SYS_IOCTL, arch, []uint32{3, 0x4020940d}, allow},
		{"share equal blocks", false, false, unix.SYS_IOCTL, arch, []uint32{3, unix.FIDEDUPERANGE}, allow},
		{"ask personality", false, false, unix.SYS_PERSONALITY, arch, []uint32{0xffffffff}, allow},
		{"fixed addresses", false, false, unix.SYS_PERSONALITY, arch, []uint32{0x40000}, allow},
		{"plain personality", false, false, unix.SYS_PERSONALITY, arch, []uint32{0}, allow},
		{"odd personality", false, false, unix.SYS_PERSONALITY, arch, []uint32{0x400000}, refuse(unix.EPERM)},
		{"unix socket", false, false, unix.SYS_SOCKET, arch, []uint32{unix.AF_UNIX, 1}, allow},
		{"unix socket, closed", true, true, unix.SYS_SOCKET, arch, []uint32{unix.AF_UNIX, 1}, refuse(unix.EAFNOSUPPORT)},
		{"inet, closed", true, false, unix.SYS_SOCKET, arch, []uint32{unix.AF_INET, 1}, refuse(unix.EAFNOSUPPORT)},
		{"inet6, closed", true, false, unix.SYS_SOCKET, arch, []uint32{unix.AF_INET6, 1}, refuse(unix.EAFNOSUPPORT)},
		{"inet6, closed, network", true, true, unix.SYS_SOCKET, arch, []uint32{unix.AF_INET6, 1}, allow},
		{"route", true, false, unix.SYS_SOCKET, arch, []uint32{unix.AF_NETLINK, 3, 0}, allow},
		{"netfilter", false, true, unix.SYS_SOCKET, arch, []uint32{unix.AF_NETLINK, 3, 12}, refuse(unix.EAFNOSUPPORT)},
		{"packet", false, true, unix.SYS_SOCKET, arch, []uint32{unix.AF_PACKET, 3}, refuse(unix.EAFNOSUPPORT)},
		{"kill", false, false, unix.SYS_KILL, arch, []uint32{2, 9}, allow},
		{"kill the first", false, false, unix.SYS_KILL, arch, []uint32{1, 9}, refuse(unix.EPERM)},
		{"kill the first's thread", false, false, unix.SYS_TGKILL, arch, []uint32{1, 1, 15}, refuse(unix.EPERM)},
		{"preempt the first's thread", false, false, unix.SYS_TGKILL, arch, []uint32{1, 1, 23}, allow},
		{"kill a thread", false, false, unix.SYS_TGKILL, arch, []uint32{2, 2, 15}, allow},
		{"kill the host's first", true, false, unix.SYS_KILL, arch, []uint32{1, 9}, allow},
		{"limit of its own", false, false, unix.SYS_PRLIMIT64, arch, []uint32{0, 7, 1000}, allow},
		{"limit of another", false, false, unix.SYS_PRLIMIT64, arch, []uint32{5, 7, 1000}, refuse(unix.EPERM)},
		{"ask for the limit of another", false, false, unix.SYS_PRLIMIT64, arch, []uint32{5, 7, 0, 1000}, allow},
		{"own processors", false, false, unix.SYS_SCHED_SETAFFINITY, arch, []uint32{0, 8, 1000}, allow},
		{"another's processors", false, false, unix.SYS_SCHED_SETAFFINITY, arch, []uint32{5, 8, 1000}, refuse(unix.EPERM)},
		{"a thread's ordinary scheduling", false, false, unix.SYS_SCHED_SETSCHEDULER, arch, []uint32{5, unix.SCHED_NORMAL}, allow},
		{"own scheduling", false, false, unix.SYS_SCHED_SETSCHEDULER, arch, []uint32{0, unix.SCHED_IDLE}, allow},
		{"another's scheduling", false, false, unix.SYS_SCHED_SETSCHEDULER, arch, []uint32{5, unix.SCHED_IDLE}, refuse(unix.EPERM)},
		{"nice", false, false, unix.SYS_SETPRIORITY, arch, []uint32{unix.PRIO_PROCESS, 0, 5}, allow},
		{"renice another", true, false, unix.SYS_SETPRIORITY, arch, []uint32{unix.PRIO_PROCESS, 5, 5}, refuse(unix.EPERM)},
		{"renice the user", true, false, unix.SYS_SETPRIORITY, arch, []uint32{unix.PRIO_USER, 0, 5}, refuse(unix.EPERM)},
		{"shared memory", false, false, unix.SYS_SHMGET, arch, []uint32{1, 4096, 0o666}, allow},
		{"the host's shared memory", true, false, unix.SYS_SHMGET, arch, []uint32{1, 4096, 0o666}, refuse(unix.ENOSYS)},
		{"plain mode", false, false, unix.SYS_FCHMODAT, arch, []uint32{0, 0, 0o1755}, allow},
		{"set-user-id", false, false, unix.SYS_FCHMODAT, arch, []uint32{0, 0, 0o4755}, refuse(unix.EPERM)},
		{"set-group-id", true, false, unix.SYS_FCHMOD, arch, []uint32{3, 0o2755}, refuse(unix.EPERM)},
		{"new set-user-id file", false, false, unix.SYS_OPENAT, arch, []uint32{0, 0, unix.O_CREAT, 0o4755}, refuse(unix.EPERM)},
		{"mode without a new file", false, false, unix.SYS_OPENAT, arch, []uint32{0, 0, unix.O_RDONLY, 0o4755}, allow},
		{"unnamed set-user-id file", false, false, unix.SYS_OPENAT, arch, []uint32{0, 0, unix.O_TMPFILE, 0o4755}, refuse(unix.EPERM)},
		{"directory", false, false, unix.SYS_OPENAT, arch, []uint32{0, 0, unix.O_DIRECTORY, 0o4755}, allow},
		{"openat2", false, false, unix.SYS_OPENAT2, arch, nil, refuse(unix.ENOSYS)},
		{"pair", true, false, unix.SYS_SOCKETPAIR, arch, []uint32{unix.AF_UNIX, 1}, allow},
		{"odd pair", true, false, unix.SYS_SOCKETPAIR, arch, []uint32{unix.AF_TIPC, 1}, refuse(unix.EAFNOSUPPORT)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := run(filter(c.closed, c.network), c.nr, c.arch, c.args...); got != c.want {
				t.Errorf("action %#x, want %#x", got, c.want)
			}
		})
	}
	if arch == unix.AUDIT_ARCH_X86_64 {
		if got := run(filter(false, false), 0x40000000|unix.SYS_MOUNT, arch); got != refuse(unix.ENOSYS) {
			t.Errorf("x32: action %#x", got)
		}
	}
}
