package docker

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/internal/egresslisten"
	"github.com/deft-dev/deft/sandbox/internal/egressproxy"
	"github.com/deft-dev/deft/sandbox/internal/rlimits"
	"github.com/deft-dev/deft/sandbox/internal/seccomp"
)

// InitArg is the hidden first argument that makes the binary the first stage of a
// container.
const InitArg = "container-init"

// MaybeInit must be called at the start of main in a binary that starts
// containers, and of TestMain in its tests. It returns at once unless this process
// is the first stage of a container, which becomes the container's program.
func MaybeInit() {
	switch {
	case len(os.Args) == 3 && os.Args[1] == egresslisten.RelayArg:
		if err := egressproxy.Relay(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, "deft:", err)
		}
		os.Exit(1)
	case len(os.Args) == 2 && os.Args[1] == removeArg:
		if err := removeAll(); err != nil {
			fmt.Fprintln(os.Stderr, "deft:", err)
			os.Exit(1)
		}
		os.Exit(0)
	case len(os.Args) < 2 || os.Args[1] != InitArg:
		return
	}
	err := start()
	// The provider reads it; nothing else can be told when that fails.
	_ = os.WriteFile(filepath.Join(insideRun, errorName), []byte(err.Error()), 0o666)
	fmt.Fprintln(os.Stderr, "deft:", err)
	os.Exit(1)
}

// start prepares the descriptors that package sandbox describes and becomes the
// program. It only returns on failure.
func start() error {
	runtime.LockOSThread() // the filter is for this thread, and exec makes it the only one
	unix.Umask(0)
	raw, err := os.ReadFile(filepath.Join(insideRun, planName))
	if err != nil {
		return err
	}
	var p plan
	if err := json.Unmarshal(raw, &p); err != nil {
		return fmt.Errorf("read plan: %w", err)
	}
	if _, err := os.Stat(p.Argv[0]); err != nil {
		return err
	}
	log, err := take(logName, os.O_WRONLY|os.O_APPEND)
	if err != nil {
		return err
	}
	journal, err := take(journalName, os.O_RDWR)
	if err != nil {
		return err
	}
	env := environment(os.Environ(), p.Env)
	if p.Proxy {
		if env, err = listenForPrograms(env); err != nil {
			return fmt.Errorf("%s%w", noProxy, err)
		}
	}
	socket, err := listen()
	if err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(insideRun, planName)); err != nil {
		return err
	}
	if err := os.Chdir(p.Workspace); err != nil {
		return err
	}
	unix.Umask(0o022)
	// The socket is first made under another name: from here on the provider may
	// connect.
	if err := os.Rename(filepath.Join(insideRun, newSocket), filepath.Join(insideRun, socketName)); err != nil {
		return err
	}
	if err := pass(map[int]int{1: log, 2: log, 3: socket, 4: journal}); err != nil {
		return err
	}
	if err := rlimits.SetOwn(); err != nil {
		return err
	}
	if err := seccomp.Load(false, p.Proxy); err != nil {
		return fmt.Errorf("load seccomp filter: %w", err)
	}
	return &os.PathError{Op: "run", Path: p.Argv[0], Err: syscall.Exec(p.Argv[0], p.Argv, env)}
}

const newSocket = "new.sock"

// take opens a file of the provider and removes its name here: commands cannot
// open it.
func take(name string, flag int) (fd int, err error) {
	path := filepath.Join(insideRun, name)
	fd, err = unix.Open(path, flag|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil {
		return 0, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return fd, os.Remove(path)
}

func listen() (fd int, err error) {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(insideRun, newSocket), Net: "unix"})
	if err != nil {
		return 0, err
	}
	l.SetUnlinkOnClose(false)
	f, err := l.File()
	if err != nil {
		return 0, err
	}
	return unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 10)
}

// pass gives the program its descriptors: to → from.
func pass(fds map[int]int) error {
	for to, from := range fds {
		fd, err := unix.FcntlInt(uintptr(from), unix.F_DUPFD_CLOEXEC, 20) // out of the way
		if err != nil {
			return err
		}
		fds[to] = fd
	}
	for to, from := range fds {
		if err := unix.Dup3(from, to, 0); err != nil {
			return err
		}
	}
	return nil
}

// environment is the image's, and what the Spec gives that is not the image's
// business. A home that cannot be written becomes a temporary one.
func environment(image, given []string) []string {
	all := slices.Clone(image)
	for _, kv := range given {
		name, _, _ := strings.Cut(kv, "=")
		if slices.Contains(sandbox.ImageVariables, name) {
			continue
		}
		all = slices.DeleteFunc(all, func(old string) bool { return strings.HasPrefix(old, name+"=") })
		all = append(all, kv)
	}
	home := -1
	for i, kv := range all {
		if strings.HasPrefix(kv, "HOME=") {
			home = i
		}
	}
	if home >= 0 && unix.Access(strings.TrimPrefix(all[home], "HOME="), unix.W_OK) == nil {
		return all
	}
	all = slices.DeleteFunc(all, func(kv string) bool { return strings.HasPrefix(kv, "HOME=") })
	if dir := "/tmp/home"; os.MkdirAll(dir, 0o700) == nil {
		return append(all, "HOME="+dir)
	}
	return append(all, "HOME=/tmp")
}
