package process

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

func kernelAttempts() []attempt {
	return []attempt{
		{"user-namespace", "make a user namespace by unshare, clone and clone3", makeNamespace},
		{"change-user", "become another user, and gain rights by set-user-id programs", changeUser},
		{"capabilities", "look for a capability", anyCapability},
		{"load-module", "load a kernel module", func(targets) error {
			return call(unix.SYS_INIT_MODULE, 0, 0, 0)
		}},
		{"bpf", "load a BPF program", func(targets) error { return call(unix.SYS_BPF, 0, 0, 0) }},
		{"perf", "open a performance counter", func(targets) error {
			return call(unix.SYS_PERF_EVENT_OPEN, 0, 0, 0)
		}},
		{"keyring", "add a key to the kernel's key ring", func(targets) error {
			id, err := unix.AddKey("user", "deft-probe", []byte("x"), unix.KEY_SPEC_PROCESS_KEYRING)
			if err != nil {
				return err
			}
			_, err = unix.KeyctlInt(unix.KEYCTL_REVOKE, id, 0, 0, 0)
			return err
		}},
		{"io-uring", "set up io_uring", func(targets) error {
			var params [120]byte
			return call(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params)), 0)
		}},
		{"type-into-terminal", "push input into a terminal (TIOCSTI)", pushInput},
		{"trace-first-process", "trace process 1", func(targets) error { return trace(1) }},
		{"trace-host-process", "trace a process outside", func(t targets) error { return trace(t.PID) }},
		{"signal-host-process", "signal a process outside", func(t targets) error {
			return unix.Kill(t.PID, 0)
		}},
	}
}

// call makes a system call with arguments that the kernel rejects if the filter
// lets them through: only the filter's answers count as refusals.
func call(nr, a, b, c uintptr) error {
	_, _, errno := unix.Syscall6(nr, a, b, c, 0, 0, 0)
	if errno == unix.EPERM || errno == unix.ENOSYS || errno == unix.EACCES {
		return errno
	}
	return nil
}

func makeNamespace(targets) error {
	attr := &syscall.ProcAttr{Sys: &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}}
	_, cloned := syscall.ForkExec("/proc/self/exe", []string{"deft", ProbeArg}, attr)
	// If the call reaches the kernel, it rejects a zero size with EINVAL.
	return refuseAll(unix.Unshare(unix.CLONE_NEWUSER), cloned, call(unix.SYS_CLONE3, 0, 0, 0), unix.Unshare(unix.CLONE_NEWNS))
}

func changeUser(targets) error {
	other := 12345
	if os.Getuid() == other {
		other++
	}
	nnp, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
	if err != nil || nnp != 1 {
		return nil // set-user-id programs would work
	}
	_, _, errno := unix.Syscall(unix.SYS_SETRESUID, uintptr(other), uintptr(other), uintptr(other))
	if errno != 0 {
		return fmt.Errorf("no_new_privs is set, setresuid: %w", errno)
	}
	return nil
}

func anyCapability(targets) error {
	var data [2]unix.CapUserData
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	if err := unix.Capget(&hdr, &data[0]); err != nil {
		return nil // unknown is not refused
	}
	if data[0].Permitted|data[1].Permitted != 0 {
		return nil
	}
	return errors.New("there is none")
}

func pushInput(targets) error {
	f, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	c := byte('x')
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), unix.TIOCSTI, uintptr(unsafe.Pointer(&c)))
	if errno != 0 {
		return errno
	}
	return nil
}

func trace(pid int) error {
	if err := unix.PtraceSeize(pid); err != nil {
		return err
	}
	return unix.PtraceDetach(pid)
}

// killFirst survives if the kernel drops the signal, as it does for the first
// process of a namespace.
func killFirst(targets) error {
	if err := unix.Kill(1, unix.SIGKILL); err != nil {
		return err
	}
	if _, err := os.ReadFile("/proc/1/stat"); err != nil {
		return nil
	}
	return errors.New("it runs on")
}
