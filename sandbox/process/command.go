package process

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// CommandArg is the hidden first argument that makes the binary start a command
// in a sandbox: the program's path and its arguments, its name first, follow.
const CommandArg = "sandbox-command"

// Command returns the path and the arguments that start a program so that neither
// it nor what it starts can signal the process that calls this, by whatever id: a
// signal to one thread can end the whole process. For the sandbox's own program;
// its binary's main calls [MaybeInit].
func Command(path string, args []string) (string, []string) {
	return "/proc/self/exe", append([]string{"deft", CommandArg, path}, args...)
}

// signalScopeABI is the first ABI of Landlock that limits signals.
const signalScopeABI = 6

// runCommand becomes the program, in a Landlock domain of its own. Where the
// kernel cannot limit signals the sandbox's report says so.
func runCommand(args []string) {
	if len(args) < 2 {
		fmt.Fprintln(os.Stderr, "deft: this command is internal; it is started by a sandbox")
		os.Exit(2)
	}
	runtime.LockOSThread()
	err := scopeSignals()
	if err == nil {
		err = &os.PathError{Op: "run", Path: args[0], Err: syscall.Exec(args[0], args[1:], os.Environ())}
	}
	fmt.Fprintln(os.Stderr, "deft:", err)
	os.Exit(126)
}

func scopeSignals() error {
	if set, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); err != nil || set == 0 {
		return nil // not in a sandbox
	}
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 || abi < signalScopeABI {
		return nil
	}
	attr := unix.LandlockRulesetAttr{Scoped: unix.LANDLOCK_SCOPE_SIGNAL}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno == 0 {
		defer unix.Close(int(fd))
		_, _, errno = unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0)
	}
	if errno != 0 {
		return fmt.Errorf("limit signals: %w", errno)
	}
	return nil
}
