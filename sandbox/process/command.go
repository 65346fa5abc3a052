package process

import (
	"fmt"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/internal/landlock"
)

// CommandArg is the hidden first argument that makes the binary start a command
// in a sandbox: the program's path and its arguments, its name first, follow.
const CommandArg = "sandbox-command"

// Command returns the path and the arguments that start a program so that neither
// it nor what it starts can signal the process that calls this, by whatever id: a
// signal to one thread can end the whole process. For the sandbox's own program;
// its binary's main calls [MaybeInit].
//
// That needs Landlock ABI 6. On older kernels the server of a PID namespace has another
// protection, which cannot replace this one: it takes all signals that it can and does
// nothing (runtime/actionserver, Options.IgnoreSignals), but there are signals that no
// program can take, and without a PID namespace it needs SIGTERM to learn of the end.
func Command(path string, args []string) (string, []string) {
	return "/proc/self/exe", append([]string{"deft", CommandArg, path}, args...)
}

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
	abi, err := landlock.ABI()
	if err != nil || abi < landlock.ScopeABI {
		return nil
	}
	// Rules that do not mention the move of files to other directories forbid it.
	rules, err := landlock.New(unix.LandlockRulesetAttr{
		Handled_access_fs: unix.LANDLOCK_ACCESS_FS_REFER, Scoped: unix.LANDLOCK_SCOPE_SIGNAL,
	})
	if err == nil {
		defer rules.Close()
		err = rules.AllowPath("/", unix.LANDLOCK_ACCESS_FS_REFER)
	}
	if err == nil {
		err = rules.RestrictThread()
	}
	if err != nil {
		return fmt.Errorf("limit signals: %w", err)
	}
	return nil
}
