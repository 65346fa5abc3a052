package process

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/sandbox/process/internal/inside"
)

// targetArg makes a probe a process of the host that others try to reach. The process
// that starts sandboxes will not do: it may be one that nobody can read.
const targetArg = "target"

// startTarget starts such a process, until end is called.
func startTarget(self string) (pid int, end func(), err error) {
	cmd := exec.Command(self, ProbeArg, targetArg)
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return 0, nil, fmt.Errorf("start a process to probe: %w", err)
	}
	return cmd.Process.Pid, func() {
		stdin.Close()
		_ = cmd.Wait() // it has nothing to say
	}, nil
}

// runProbe is the program of the Doctor's sandbox. As process 1 it behaves like
// an action server; a child process, like a command, makes the attempts.
func runProbe(args []string) int {
	var t targets
	if len(args) == 1 && args[0] == targetArg {
		_, _ = io.Copy(io.Discard, os.Stdin) // until the doctor is done
		return 0
	}
	if len(args) == 0 || json.Unmarshal([]byte(args[0]), &t) != nil {
		fmt.Fprintln(os.Stderr, "deft: this command is internal; use `deft doctor`")
		return 2
	}
	if len(args) == 2 && args[1] == "try" {
		if len(t.Paths) > 0 {
			if err := tryPaths(t.Paths, os.Stdout); err != nil {
				return 1
			}
			return 0
		}
		level := LevelLandlock
		if os.Getppid() == 1 {
			level = LevelNamespaces
		}
		enc := json.NewEncoder(os.Stdout)
		for _, a := range attempts(level, t) {
			if err := enc.Encode(a.check(t)); err != nil {
				return 1
			}
		}
		return 0
	}
	if err := serveProbe(args[0]); err != nil {
		fmt.Fprintln(os.Stderr, "probe:", err)
		return 1
	}
	return 0
}

func serveProbe(arg string) error {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("protect memory: %w", err)
	}
	l, err := net.FileListener(os.NewFile(inside.FDListener, "listener"))
	if err != nil {
		return fmt.Errorf("take over listener: %w", err)
	}
	conn, err := l.Accept()
	if err != nil {
		return fmt.Errorf("accept: %w", err)
	}
	defer conn.Close()
	cmd := exec.Command("/proc/self/exe")
	cmd.Path, cmd.Args = Command("/proc/self/exe", []string{"deft", ProbeArg, arg, "try"})
	cmd.Stdout = conn
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("try: %w", err)
	}
	return nil
}
