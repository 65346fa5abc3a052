// Package ahead has the start parameters of a terminal's shell, and starts it before the
// terminal is there.
//
// # Usage
//
//	spec := ahead.NewSpec(path, env, dir, rows, cols, command)
//	err := ahead.Start(spec)  // in an init function of the program
//	sh := ahead.Take(spec)    // package tool/terminal, when it needs its first shell
//
// A program that only serves a terminal spends most of its start on initializing its
// packages. The shell starts meanwhile, on another processor. It imports hardly anything,
// so that this can begin early (see sandbox/internal/earlyshell).
//
// # Concurrency and failure
//
// Start is called once at most; Take is safe for concurrent use. A shell that was started
// otherwise than the terminal wants it is killed, and Take returns nil. One that nobody
// takes reads nothing, runs nothing, and ends with this process. Errors are the system's.
package ahead

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/tool/internal/tty"
)

// The size of a terminal by default.
const (
	Rows = 50
	Cols = 200
)

// Spec has the start parameters of a shell.
type Spec struct {
	Path       string
	Args       []string // its name first
	Env        []string // all of it, as KEY=value
	Dir        string   // where it begins
	Rows, Cols uint16   // of its terminal
	// Quiet says that it may write something when it starts, which is dropped: its standard
	// output is nothing until its first input makes that the terminal, which is 2.
	Quiet bool
}

// NewSpec returns the start parameters of a shell of this path. Variables that would disturb
// a terminal are left out of env, and some that no program should wait for a person are
// added. command changes the path and the arguments by which it is started; nil for none.
func NewSpec(path string, env []string, dir string, rows, cols uint16, command func(string, []string) (string, []string)) Spec {
	s := Spec{Path: path, Env: environment(env), Dir: dir, Rows: rows, Cols: cols}
	if IsBash(path) {
		s.Args = []string{"bash", "--norc", "--noprofile", "--noediting", "-i"}
	} else {
		// The pipe is read as a script: from its standard input busybox would read with
		// buffers that programs of its own inherit. It writes something when it starts.
		s.Args, s.Quiet = []string{"sh", "-i", "/proc/self/fd/0"}, true
	}
	if command != nil {
		s.Path, s.Args = command(s.Path, s.Args)
	}
	return s
}

// IsBash reports whether a shell is bash, by its name.
func IsBash(path string) bool { return filepath.Base(path) == "bash" }

// Find returns the path of the shell that look finds: bash or, where that is missing, sh.
// look is exec.LookPath, or a version that remembers its results.
func Find(look func(name string) (string, error)) (string, error) {
	path, err := look("bash")
	if err != nil {
		return look("sh")
	}
	return path, nil
}

// Pipes are this process's ends of the pipes to a shell, beside its terminal.
type Pipes struct {
	Control *os.File // the shell's input
	Report  *os.File // its reports; both support deadlines
	// Exit is a file in memory for the shell's last state.
	Exit *os.File
}

// Connect makes the pipes of a new shell on a terminal. files become its descriptors, from 0
// on. The caller closes done once it has started.
func Connect(s Spec, terminal *os.File) (p Pipes, files []*os.File, done func(), err error) {
	var opened []*os.File
	done = func() {
		for _, f := range opened {
			_ = f.Close() // the shell has its own
		}
	}
	defer func() {
		if err != nil {
			done()
			p.Close()
		}
	}()
	var in, out *os.File
	if p.Control, in, err = pipe(true); err != nil {
		return p, nil, done, err
	}
	opened = append(opened, in)
	if p.Report, out, err = pipe(false); err != nil {
		return p, nil, done, err
	}
	opened = append(opened, out)
	// Not a file on disk: variables may be secret, and this is deleted when this process is.
	fd, err := unix.MemfdCreate("deft-shell", unix.MFD_CLOEXEC)
	if err != nil {
		return p, nil, done, fmt.Errorf("make memory file: %w", err)
	}
	p.Exit = os.NewFile(uintptr(fd), "deft-shell")
	output := terminal
	if s.Quiet {
		if output, err = os.OpenFile(os.DevNull, os.O_WRONLY, 0); err != nil {
			return p, nil, done, err
		}
		opened = append(opened, output)
	}
	defaultSignals()
	return p, []*os.File{in, output, terminal, out, p.Exit}, done, nil
}

// Close closes the pipes.
func (p Pipes) Close() {
	for _, f := range []*os.File{p.Control, p.Report, p.Exit} {
		if f != nil {
			_ = f.Close()
		}
	}
}

// Attributes make the terminal the controlling terminal of the new process.
func Attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 2}
}

// pipe returns our end, which supports deadlines, and the child's, which blocks.
func pipe(weWrite bool) (ours, theirs *os.File, err error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC); err != nil {
		return nil, nil, fmt.Errorf("make pipe: %w", err)
	}
	our, their := fds[0], fds[1]
	if weWrite {
		our, their = their, our
	}
	theirs = os.NewFile(uintptr(their), "pipe")
	err = unix.SetNonblock(our, true)
	ours = os.NewFile(uintptr(our), "pipe")
	if err != nil {
		return nil, nil, errors.Join(err, ours.Close(), theirs.Close())
	}
	return ours, theirs, nil
}

// defaultSignals has programs that this process starts from now on begin with the
// default action for the signals of the keyboard. Where this process was started to
// ignore them, as shells do it for programs in the background, these would ignore them
// too, and Ctrl-C would stop no command. This process itself goes on to do nothing.
var defaultSignals = sync.OnceFunc(func() {
	for _, sig := range []os.Signal{syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTSTP} {
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig)
		}
	}
})

// Shell is one that was started ahead.
type Shell struct {
	PID           int
	Master, Slave *os.File // of its terminal
	Pipes
	dir os.FileInfo
}

var started struct {
	sync.Mutex
	spec  Spec
	shell *Shell
}

// Start starts a shell for the first [Take].
func Start(s Spec) (err error) {
	sh := &Shell{}
	if sh.dir, err = os.Stat(s.Dir); err != nil {
		return err
	}
	if sh.Master, sh.Slave, err = tty.Open(s.Rows, s.Cols); err != nil {
		return err
	}
	pipes, files, done, err := Connect(s, sh.Slave)
	if err != nil {
		return errors.Join(err, sh.Master.Close(), sh.Slave.Close())
	}
	defer done()
	sh.Pipes = pipes
	attr := &syscall.ProcAttr{Dir: s.Dir, Env: s.Env, Sys: Attributes()}
	for _, f := range files {
		raw, err := f.SyscallConn() // Fd would change its mode
		if err == nil {
			err = raw.Control(func(fd uintptr) { attr.Files = append(attr.Files, fd) })
		}
		if err != nil {
			sh.close()
			return err
		}
	}
	if sh.PID, err = syscall.ForkExec(s.Path, s.Args, attr); err != nil {
		sh.close()
		return &os.PathError{Op: "fork/exec", Path: s.Path, Err: err}
	}
	started.Lock()
	defer started.Unlock()
	started.spec, started.shell = s, sh
	return nil
}

func (sh *Shell) close() {
	sh.Pipes.Close()
	_, _ = sh.Master.Close(), sh.Slave.Close() // they are given up
}

// Take returns the shell that was started ahead, once, if it fits spec and begins in the
// present directory; else nil.
func Take(s Spec) *Shell {
	started.Lock()
	sh, spec := started.shell, started.spec
	started.shell = nil
	started.Unlock()
	if sh == nil {
		return nil
	}
	if dir, err := os.Stat(s.Dir); err == nil && os.SameFile(dir, sh.dir) && spec.equal(s) {
		return sh
	}
	sh.Discard()
	return nil
}

// Discard ends a shell that was taken and is not needed.
func (sh *Shell) Discard() {
	_ = syscall.Kill(sh.PID, syscall.SIGKILL) // not reaped, so it is ours
	_, _ = syscall.Wait4(sh.PID, nil, 0, nil)
	sh.close()
}

func (s Spec) equal(o Spec) bool {
	return s.Path == o.Path && slices.Equal(s.Args, o.Args) && slices.Equal(s.Env, o.Env) && s.Dir == o.Dir &&
		s.Rows == o.Rows && s.Cols == o.Cols && s.Quiet == o.Quiet
}
