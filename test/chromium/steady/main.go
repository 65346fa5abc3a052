//go:build linux

// Command steady runs Chromium so that the machine's networks do not disturb it.
//
// Chromium drops all requests under way (net::ERR_NETWORK_CHANGED), requests to this
// machine too, when an address of an interface comes or goes. Tests with containers
// beside tests of a page make and remove interfaces all the time. Without netlink sockets
// Chromium does not hear of it.
//
// Usage: steady CHROMIUM [ARGUMENT...]. It ends with status 1 and a message where it
// cannot start the program.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "steady:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("no program is given")
	}
	program, err := exec.LookPath(args[0])
	if err != nil {
		return err
	}
	runtime.LockOSThread() // the filter is the thread's, which becomes the program
	if err := refuseNetlink(); err != nil {
		return fmt.Errorf("refuse netlink sockets: %w", err)
	}
	return fmt.Errorf("run %s: %w", program, syscall.Exec(program, args, os.Environ()))
}

// refuseNetlink has socket(AF_NETLINK, ...) fail as on a kernel without it. See
// Documentation/userspace-api/seccomp_filter.rst of Linux.
func refuseNetlink() error {
	var arch uint32 = unix.AUDIT_ARCH_X86_64
	if runtime.GOARCH == "arm64" {
		arch = unix.AUDIT_ARCH_AARCH64
	}
	const number, architecture, family = 0, 4, 16 // offsets in struct seccomp_data
	load := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	unless := func(value uint32, skip uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: skip, K: value}
	}
	answer := func(value uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: value}
	}
	filter := []unix.SockFilter{
		load(architecture), unless(arch, 5),
		load(number), unless(unix.SYS_SOCKET, 3),
		load(family), unless(unix.AF_NETLINK, 1),
		answer(unix.SECCOMP_RET_ERRNO | uint32(unix.EAFNOSUPPORT)),
		answer(unix.SECCOMP_RET_ALLOW),
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return errno
	}
	return nil
}
