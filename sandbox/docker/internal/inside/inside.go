// Package inside is the first stage of a container (package sandbox/docker): the binary
// that is mounted into it makes the socket and the proxy's listeners, opens the journal and
// the log, gives up rights and becomes the sandbox's program.
//
// # Usage
//
// A container's command is the binary with [Arg]; the directory that is mounted at [Run]
// has a [Plan]. Whatever imports this package can be such a stage: it runs while the
// package is initialized, which is long before the rest of a large binary is, because it
// imports hardly anything (see sandbox/process/internal/inside).
//
// # Concurrency and failure
//
// A stage is one process with one thread of work. Its failure is in the file
// [ErrorName].
package inside

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/sandbox/internal/egresslisten"
	"github.com/deft-dev/deft/sandbox/internal/rlimits"
	"github.com/deft-dev/deft/sandbox/internal/seccomp"
)

// Arg is the hidden first argument that makes the binary the first stage of a container.
const Arg = "container-init"

// Where in a container the binary is, and the directory that the stage shares with the
// provider.
const (
	Self  = "/.deft/deft"
	Run   = "/.deft/run"
	Relay = "/.deft/relay"
)

// Files of a sandbox's directory, and of the one in it that is mounted.
const (
	SocketName  = "server.sock"
	JournalName = "journal"
	LogName     = "log"
	PlanName    = "plan.json"
	ErrorName   = "error"
)

// The stage sends the listeners for the proxy through ProxySocket. gVisor cannot
// hand them over: the proxy listens on RelaySocket then, which a relay inside connects to.
const (
	ProxySocket = "proxy.sock"
	RelaySocket = "relay.sock"
)

// RemoveArg makes a binary whose main calls stage.MaybeInit remove everything in
// Removed.
const (
	RemoveArg = "container-remove"
	Removed   = "/.deft/removed"
)

// NoProxy begins the stage's error if it cannot reach the provider.
const NoProxy = "hand over listeners: "

// Plan is the stage's work. It holds variables that may be secret.
type Plan struct {
	Argv      []string
	Env       []string
	Image     []string // variables of Env that the image decides on
	Workspace string
	// Proxy says that the stage makes listeners for the sandbox's proxy.
	Proxy bool
	// GitConfig is git's configuration for the user, if the home has none. Shown are the
	// directories of the host, in which nothing is made.
	GitConfig []byte   `json:",omitempty"`
	Shown     []string `json:",omitempty"`
}

func init() {
	if len(os.Args) < 2 || os.Args[1] != Arg {
		return
	}
	err := start()
	// The provider reads it; nothing else can be told when that fails.
	_ = os.WriteFile(filepath.Join(Run, ErrorName), []byte(err.Error()), 0o666)
	fmt.Fprintln(os.Stderr, "deft:", err)
	os.Exit(1)
}

// start prepares the descriptors that package sandbox describes and becomes the
// program. It only returns on failure.
func start() error {
	runtime.LockOSThread() // the filter is for this thread, and exec makes it the only one
	unix.Umask(0)
	raw, err := os.ReadFile(filepath.Join(Run, PlanName))
	if err != nil {
		return err
	}
	var p Plan
	if err := json.Unmarshal(raw, &p); err != nil {
		return fmt.Errorf("read plan: %w", err)
	}
	if _, err := os.Stat(p.Argv[0]); err != nil {
		return err
	}
	log, err := take(LogName, os.O_WRONLY|os.O_APPEND)
	if err != nil {
		return err
	}
	journal, err := take(JournalName, os.O_RDWR)
	if err != nil {
		return err
	}
	env := environment(os.Environ(), p.Env, p.Image)
	p.configureGit(env)
	if p.Proxy {
		if env, err = listenForPrograms(env); err != nil {
			return fmt.Errorf("%s%w", NoProxy, err)
		}
	}
	socket, err := listen()
	if err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(Run, PlanName)); err != nil {
		return err
	}
	if err := os.Chdir(p.Workspace); err != nil {
		return err
	}
	unix.Umask(0o022)
	// The socket is first made under another name: from here on the provider may
	// connect.
	if err := os.Rename(filepath.Join(Run, newSocket), filepath.Join(Run, SocketName)); err != nil {
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
	path := filepath.Join(Run, name)
	fd, err = unix.Open(path, flag|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil {
		return 0, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return fd, os.Remove(path)
}

func listen() (fd int, err error) {
	fd, err = unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return 0, &os.SyscallError{Syscall: "socket", Err: err}
	}
	path := filepath.Join(Run, newSocket)
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		return 0, &os.PathError{Op: "listen", Path: path, Err: err}
	}
	if err := unix.Listen(fd, unix.SOMAXCONN); err != nil {
		return 0, &os.PathError{Op: "listen", Path: path, Err: err}
	}
	return unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 10)
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

// environment is the image's, and the Spec's variables that are not in own, the
// image's business. A home that cannot be written becomes a temporary one.
func environment(image, given, own []string) []string {
	all := slices.Clone(image)
	for _, kv := range given {
		name, _, _ := strings.Cut(kv, "=")
		if slices.Contains(own, name) {
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

// configureGit gives the home git's configuration. Where that is not possible, git asks
// for a name.
func (p *Plan) configureGit(env []string) {
	home := ""
	for _, kv := range env {
		if dir, ok := strings.CutPrefix(kv, "HOME="); ok {
			home = filepath.Clean(dir)
		}
	}
	shown := func(dir string) bool { return home == dir || strings.HasPrefix(home, strings.TrimSuffix(dir, "/")+"/") }
	if len(p.GitConfig) == 0 || home == "" || slices.ContainsFunc(p.Shown, shown) {
		return
	}
	for _, name := range []string{".gitconfig", ".config/git/config"} {
		if _, err := os.Lstat(filepath.Join(home, name)); !errors.Is(err, os.ErrNotExist) {
			return // the image's
		}
	}
	f, err := os.OpenFile(filepath.Join(home, ".gitconfig"), os.O_WRONLY|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o644)
	if err == nil {
		_, _ = f.Write(p.GitConfig)
		_ = f.Close()
	}
}

// listenForPrograms is the first stage's part. It returns the environment in which
// programs find the proxy.
func listenForPrograms(env []string) ([]string, error) {
	path := filepath.Join(Run, ProxySocket)
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		return nil, &os.PathError{Op: "connect", Path: path, Err: err}
	}
	port, err := egresslisten.Listen(fd, &egresslisten.RelayOptions{Self: Self, Path: filepath.Join(Relay, RelaySocket)})
	if err != nil {
		return nil, err
	}
	started := make([]byte, 1)
	if n, err := unix.Read(fd, started); err != nil || n == 0 {
		return nil, errors.Join(errors.New("the proxy did not start"), err)
	}
	return egresslisten.Environment(env, port, ""), nil
}
