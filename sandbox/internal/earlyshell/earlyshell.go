// Package earlyshell starts the shell of a sandbox's action server while the rest of the
// binary is still initialized (package tool/terminal/ahead).
//
// # Usage
//
// Programs that hold it in an import have nothing to call. It does its work where the
// arguments belong to an action server in a sandbox, as session/build makes them, and
// nothing in any other process.
//
// # Concurrency and failure
//
// It imports hardly anything, since that decides how early it runs (see
// sandbox/internal/signalscope). If the shell cannot be started, the terminal tries it again
// with the first command, and reports it.
package earlyshell

import (
	"os"
	"os/exec"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/sandbox/internal/signalscope"
	"github.com/deft-dev/deft/tool/terminal/ahead"
)

func init() {
	if dir := workspace(os.Args); dir != "" && os.Getpid() == 1 {
		_ = start(dir)
	}
}

// workspace is the directory of the commands of an action server in a sandbox of its own; ""
// if the arguments are others.
func workspace(args []string) string {
	if len(args) < 2 || args[1] != "action-server" || !slices.Contains(args, "--ignore-signals") || slices.Contains(args, "--own-program") {
		return ""
	}
	i := slices.Index(args, "--workspace") + 1
	if i == 0 || i == len(args) {
		return ""
	}
	return args[i]
}

func start(dir string) error {
	// As the server does it later: the shell must not read this process's memory.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return err
	}
	path, err := ahead.Find(exec.LookPath)
	if err != nil {
		return err
	}
	return ahead.Start(ahead.NewSpec(path, os.Environ(), dir, ahead.Rows, ahead.Cols, signalscope.Command))
}
