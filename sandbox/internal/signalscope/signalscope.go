// Package signalscope starts commands that cannot signal the process that starts them.
//
// # Usage
//
//	cmd.Path, cmd.Args = signalscope.Command(cmd.Path, cmd.Args)
//
// The binary starts itself again with [Arg], gives up the right to signal, and becomes the
// command. It does so while this package is initialized: programs that hold it in an
// import have nothing to call. It imports hardly anything, because Go initializes packages
// as soon as their imports are, in the order of their paths (the Go specification,
// "Program initialization"): the command then does not wait for the rest of a large binary
// to be initialized, which takes several milliseconds and a thousand page faults. Nothing
// but the speed depends on that order.
//
// # Concurrency and failure
//
// Command is safe for concurrent use. A command that cannot be started ends with the exit
// code 126 and says why on its standard error, as a shell would. Where the kernel cannot
// limit signals (Landlock before ABI 6), the command starts all the same, by itself;
// the sandbox's report says so.
package signalscope

import (
	"os"
	"runtime"
	"sync"
	"syscall"

	"github.com/deft-dev/deft/internal/landlock"
)

// Arg is the hidden first argument that makes the binary start a command: the program's
// path and its arguments, its name first, follow.
const Arg = "sandbox-command"

func init() {
	if len(os.Args) > 1 && os.Args[1] == Arg {
		run(os.Args[2:])
	}
}

// Command returns the path and the arguments that start a program so that neither it nor
// its children can signal the process that calls this, by whatever id: a signal to one
// thread can end the whole process. Where there is nothing to give up it returns its
// arguments unchanged: in gVisor the start of a large binary takes longer than a
// shell's.
func Command(path string, args []string) (string, []string) {
	if !canScope() {
		return path, args
	}
	return "/proc/self/exe", append([]string{"deft", Arg, path}, args...)
}

// run becomes the program, in a Landlock domain of its own.
func run(args []string) {
	if len(args) < 2 {
		end("this command is internal; it is started by a sandbox", 2)
	}
	runtime.LockOSThread()
	err := scope()
	if err == nil {
		err = &os.PathError{Op: "run", Path: args[0], Err: syscall.Exec(args[0], args[1:], os.Environ())}
	}
	end(err.Error(), 126)
}

func end(why string, code int) {
	_, _ = os.Stderr.WriteString("deft: " + why + "\n")
	os.Exit(code)
}

// canScope reports whether this process is in a sandbox, and the kernel can limit signals.
// Neither changes while it runs.
var canScope = sync.OnceValue(func() bool {
	const getNoNewPrivs = 39 // PR_GET_NO_NEW_PRIVS
	if set, _, errno := syscall.Syscall6(syscall.SYS_PRCTL, getNoNewPrivs, 0, 0, 0, 0, 0); errno != 0 || set == 0 {
		return false
	}
	abi, err := landlock.ABI()
	return err == nil && abi >= landlock.ScopeABI
})

func scope() error {
	// Rules that do not mention the move of files to other directories forbid it.
	rules, err := landlock.New(landlock.Limits{Files: landlock.Refer, Scoped: landlock.Signals})
	if err == nil {
		defer rules.Close()
		err = rules.AllowPath("/", landlock.Refer)
	}
	if err == nil {
		err = rules.RestrictThread()
	}
	if err != nil {
		return &os.SyscallError{Syscall: "limit signals", Err: err}
	}
	return nil
}
