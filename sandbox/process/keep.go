package process

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/sandbox/process/internal/inside"
)

// KeepArg is the hidden first argument that makes the binary the first process of a
// sandbox without a PID namespace: it starts the init stage, adopts its orphans,
// and ends everything with it. Commands cannot signal it.
const KeepArg = "sandbox-keep"

// runKeep returns the exit code of the init stage, or dies of the same signal.
func runKeep(args []string) int {
	runtime.LockOSThread() // the parent of the init stage is this thread
	files, err := strconv.Atoi(strings.Join(args, ""))
	if err != nil || files < inside.FDOutcome+1 || files > inside.FirstFree {
		fmt.Fprintln(os.Stderr, "deft: this command is internal; it is started by a sandbox")
		return 2
	}
	child, err := startKept(files)
	if err != nil {
		fmt.Fprintln(os.Stderr, "sandbox keeper:", err)
		return 1
	}
	var status syscall.WaitStatus
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case err != nil: // ECHILD: all have ended
			if status.Signaled() {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			}
			return status.ExitStatus()
		case pid == child:
			status, child = ws, 0
		}
		if child == 0 {
			for _, pid := range descendants(os.Getpid()) {
				_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
			}
		}
	}
}

// startKept starts the init stage, with the first descriptors, once its plan has come:
// by then this process is in its control groups. If this process is killed, the action
// server is killed too: one that ended in order would record results for actions that
// the next one has been asked for already.
func startKept(files int) (pid int, err error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return 0, fmt.Errorf("become subreaper: %w", err)
	}
	poll := []unix.PollFd{{Fd: inside.FDPlan, Events: unix.POLLIN}}
	for {
		if _, err := unix.Poll(poll, -1); !errors.Is(err, unix.EINTR) {
			break
		}
	}
	var passed []uintptr
	for fd := range uintptr(files) {
		passed = append(passed, fd)
	}
	pid, err = syscall.ForkExec("/proc/self/exe", []string{"deft", inside.Arg}, &syscall.ProcAttr{
		Dir: "/", Env: os.Environ(), Files: passed,
		Sys: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL},
	})
	for _, fd := range passed[3:] {
		unix.Close(int(fd)) // only the child may keep them open
	}
	return pid, err
}
