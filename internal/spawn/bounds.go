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
	"unsafe"

	"golang.org/x/sys/unix"
)

// Bounds limit a program that works on data of others, as git does on a repository.
type Bounds struct {
	// Memory is how much memory it may allocate, in bytes, files that it maps not
	// counted; 0 for no limit. Its children have the same limit each.
	Memory uint64
	// Confined lets it open only installed programs, with what they need, and what
	// is below Read and Write. That holds for the directories that are open, so
	// links that are exchanged meanwhile lead nowhere. It needs Landlock with ABI 2
	// (Linux 5.19); without it a program is not confined, see [CanConfine].
	Confined    bool
	Read, Write []*os.File
}

// limited starts a program with a bound on its memory, in kilobytes. It is set before
// the program begins: prlimit(2) of a running one comes too late. It fails where a
// lower one is in force already.
const limited = `ulimit -d "$0" 2>/dev/null; exec "$@"`

// Run runs a command within the bounds, as [exec.Cmd.Run] does.
func (b Bounds) Run(cmd *exec.Cmd) error {
	program := cmd.Path
	if b.Memory > 0 && cmd.Err == nil {
		sh, err := exec.LookPath("sh")
		if err != nil {
			return fmt.Errorf("bound the memory of %s: %w", filepath.Base(cmd.Path), err)
		}
		cmd.Args = append([]string{"sh", "-c", limited, strconv.FormatUint(b.Memory>>10, 10), cmd.Path}, cmd.Args[1:]...)
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

// Rights of Landlock's file system rules, see landlock(7).
const (
	readFile  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE
	readRight = readFile | unix.LANDLOCK_ACCESS_FS_READ_DIR
	allRights = 1<<13 - 1 | unix.LANDLOCK_ACCESS_FS_REFER // of ABI 2
)

// CanConfine reports whether [Bounds.Confined] has an effect on this machine.
var CanConfine = sync.OnceValue(func() bool {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	return errno == 0 && abi >= 2
})

// systemFiles is what programs need to start.
var systemFiles = []string{
	"/bin", "/lib", "/lib32", "/lib64", "/nix/store", "/run/current-system", "/sbin", "/usr",
	"/etc/ld.so.cache", "/etc/ld.so.preload", "/etc/localtime", "/dev/null", "/dev/zero", "/dev/urandom",
}

// confineThread restricts this thread, and the processes that it starts, for good.
func (b Bounds) confineThread(program string) error {
	attr := unix.LandlockRulesetAttr{Handled_access_fs: allRights}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return fmt.Errorf("confine a program: %w", errno)
	}
	defer unix.Close(int(fd))
	paths := slices.Clone(systemFiles)
	if real, err := filepath.EvalSymlinks(program); err == nil { // an installation elsewhere
		paths = append(paths, filepath.Dir(filepath.Dir(real)))
	}
	for _, path := range paths {
		at, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			continue // not every system has it
		}
		rights := uint64(readRight)
		if path == "/dev/null" {
			rights |= unix.LANDLOCK_ACCESS_FS_WRITE_FILE
		}
		err = allowBelow(int(fd), at, rights)
		unix.Close(at)
		if err != nil {
			return fmt.Errorf("confine a program to %s: %w", path, err)
		}
	}
	for i, f := range slices.Concat(b.Read, b.Write) {
		rights := uint64(readRight)
		if i >= len(b.Read) {
			rights = allRights
		}
		fds, err := descriptors([]*os.File{f})
		if err == nil {
			err = allowBelow(int(fd), fds[0], rights)
		}
		if err != nil {
			return fmt.Errorf("confine a program to %s: %w", f.Name(), err)
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("confine a program: %w", err)
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return fmt.Errorf("confine a program: %w", errno)
	}
	return nil
}

func allowBelow(ruleset, fd int, rights uint64) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= readFile | unix.LANDLOCK_ACCESS_FS_WRITE_FILE // others are refused for files
	}
	attr := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&attr)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
