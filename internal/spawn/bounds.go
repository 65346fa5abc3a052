package spawn

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/internal/landlock"
)

// Bounds limit a program that works on data of others, as git does on a repository.
type Bounds struct {
	// Memory is how much memory it may allocate, in bytes, files that it maps not
	// counted; 0 for no limit. Its children have the same limit each.
	Memory uint64
	// File is how large a file it may write, in bytes; 0 for no limit.
	File uint64
	// Confined lets it open only installed programs, with their libraries, and
	// everything below Read and Write. That holds for the directories that are open,
	// so links that are exchanged meanwhile lead nowhere. It needs Landlock with ABI 2
	// (Linux 5.19); without it a program is not confined, see [CanConfine].
	Confined    bool
	Read, Write []*os.File
}

// limited starts a program with a bound on its memory, in kilobytes, and on its files, in
// blocks. They are set before the program begins: prlimit(2) of a running one comes too
// late. That fails where lower ones are in force already.
const limited = `ulimit -d "$0" 2>/dev/null; ulimit -f "$1" 2>/dev/null; shift; exec "$@"`

// block is the unit of ulimit -f (POSIX).
const block = 512

// inUnits is how ulimit takes a bound.
func inUnits(bytes, unit uint64) string {
	if bytes == 0 {
		return "unlimited"
	}
	return strconv.FormatUint(bytes/unit, 10)
}

// Run runs a command within the bounds, as [exec.Cmd.Run] does.
func (b Bounds) Run(cmd *exec.Cmd) error {
	program := cmd.Path
	if b.Memory+b.File > 0 && cmd.Err == nil {
		sh, err := exec.LookPath("sh")
		if err != nil {
			return fmt.Errorf("bound what %s uses: %w", filepath.Base(cmd.Path), err)
		}
		cmd.Args = append([]string{"sh", "-c", limited, inUnits(b.Memory, 1<<10), inUnits(b.File, block), cmd.Path}, cmd.Args[1:]...)
		cmd.Path = sh
	}
	if err := b.start(cmd, program); err != nil {
		return err
	}
	return cmd.Wait()
}

func (b Bounds) start(cmd *exec.Cmd, program string) error {
	if !b.Confined || !CanConfine() {
		return cmd.Start()
	}
	started := make(chan error)
	go b.startConfined(cmd, program, started)
	return <-started
}

// startConfined starts a command from a thread that is confined. It is never
// unlocked, so it ends with its goroutine. The main thread, which cannot end, is
// held until another one is found.
func (b Bounds) startConfined(cmd *exec.Cmd, program string, started chan<- error) {
	runtime.LockOSThread()
	if unix.Gettid() == os.Getpid() {
		other := make(chan error)
		go b.startConfined(cmd, program, other)
		err := <-other
		runtime.UnlockOSThread()
		started <- err
		return
	}
	err := b.confineThread(program)
	if err == nil {
		err = cmd.Start()
	}
	started <- err
}

// minimumABI has all the rights that [Bounds.Confined] limits.
const minimumABI = 2

// CanConfine reports whether [Bounds.Confined] has an effect on this machine.
var CanConfine = sync.OnceValue(func() bool {
	abi, err := landlock.ABI()
	return err == nil && abi >= minimumABI
})

// systemFiles are files that programs need to start.
var systemFiles = []string{
	"/bin", "/lib", "/lib32", "/lib64", "/nix/store", "/run/current-system", "/sbin", "/usr",
	"/etc/ld.so.cache", "/etc/ld.so.preload", "/etc/localtime", "/dev/null", "/dev/zero", "/dev/urandom",
}

// confineThread restricts this thread, and the processes that it starts, for good.
func (b Bounds) confineThread(program string) error {
	rules, err := landlock.New(landlock.Limits{Files: landlock.Rights(minimumABI)})
	if err != nil {
		return fmt.Errorf("confine a program: %w", err)
	}
	defer rules.Close()
	paths := slices.Clone(systemFiles)
	if real, err := filepath.EvalSymlinks(program); err == nil { // an installation elsewhere
		paths = append(paths, filepath.Dir(filepath.Dir(real)))
	}
	for _, path := range paths { // not every system has them all
		rights := uint64(landlock.Read)
		if path == "/dev/null" {
			rights |= unix.LANDLOCK_ACCESS_FS_WRITE_FILE
		}
		if err := rules.AllowPath(path, rights); err != nil {
			return fmt.Errorf("confine a program to %s: %w", path, err)
		}
	}
	for i, f := range slices.Concat(b.Read, b.Write) {
		rights := uint64(landlock.Read)
		if i >= len(b.Read) {
			rights = landlock.All
		}
		fds, err := descriptors([]*os.File{f})
		if err == nil {
			err = rules.Allow(fds[0], rights)
		}
		if err != nil {
			return fmt.Errorf("confine a program to %s: %w", f.Name(), err)
		}
	}
	err = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	if err == nil {
		err = rules.RestrictThread()
	}
	if err != nil {
		return fmt.Errorf("confine a program: %w", err)
	}
	return nil
}
