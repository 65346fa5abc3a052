package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// otherAttempts are about processes beside the command's own, and about files that
// another user runs later.
func otherAttempts(level string) []attempt {
	all := []attempt{
		{"set-user-id", "make set-user-id and set-group-id files in the workspace", setUserID},
		{"limit-others", "change limits, priority and processors of the action server and of a process outside", limitOthers},
		{"signal-first-threads", "signal the threads of the action server", signalThreads},
	}
	if level == LevelLandlock {
		all = append(all, attempt{"shared-memory", "use System V shared memory of the host", func(targets) error {
			_, _, errno := unix.Syscall(unix.SYS_SHMGET, 0, 4096, 0o600|0o1000) // IPC_PRIVATE, IPC_CREAT
			if errno != 0 {
				return errno
			}
			return nil
		}})
	}
	return all
}

func setUserID(t targets) error {
	path := filepath.Join(t.Workspace, "program")
	if err := os.WriteFile(path, nil, 0o700); err != nil {
		return fmt.Errorf("prepare: %w", err)
	}
	var errs []error
	for _, bits := range []uint32{unix.S_ISUID, unix.S_ISGID} {
		fd, err := unix.Open(path+"-new", unix.O_CREAT|unix.O_WRONLY, bits|0o755)
		if err == nil {
			err = unix.Close(fd)
		}
		errs = append(errs, unix.Chmod(path, bits|0o755), unix.Fchmodat(unix.AT_FDCWD, path, bits|0o755, 0),
			unix.Mknod(path+"-node", unix.S_IFREG|bits|0o755, 0), err)
	}
	return refuseAll(errs...)
}

func limitOthers(t targets) error {
	var errs []error
	for _, pid := range []int{os.Getppid(), t.PID} {
		var limit unix.Rlimit
		if err := unix.Prlimit(pid, unix.RLIMIT_FSIZE, nil, &limit); err != nil {
			limit = unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}
		}
		// It sets the present values: without isolation nothing changes.
		var set unix.CPUSet
		if err := unix.SchedGetaffinity(pid, &set); err != nil {
			set.Set(0)
		}
		nice, err := unix.Getpriority(unix.PRIO_PROCESS, pid)
		if err != nil {
			nice = 20
		}
		errs = append(errs, unix.Prlimit(pid, unix.RLIMIT_FSIZE, &limit, nil),
			unix.Setpriority(unix.PRIO_PROCESS, pid, 20-nice), unix.SchedSetaffinity(pid, &set))
	}
	return refuseAll(errs...)
}

func signalThreads(targets) error {
	server := os.Getppid()
	tasks, err := os.ReadDir("/proc/" + strconv.Itoa(server) + "/task")
	if err != nil {
		return err
	}
	refused := errors.New("all have ended")
	for _, task := range tasks {
		tid, err := strconv.Atoi(task.Name())
		if err != nil {
			return fmt.Errorf("prepare: %w", err)
		}
		_, _, errno := unix.Syscall(unix.SYS_TKILL, uintptr(tid), 0, 0)
		switch {
		case errno == 0:
			return nil
		case errno != unix.ESRCH: // it has not ended
			if unix.Kill(tid, 0) == nil || unix.Tgkill(server, tid, 0) == nil {
				return nil
			}
			refused = errno
		}
	}
	return refused
}
