package process

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/sandbox"
)

// EgressArg is the hidden first argument that makes the binary the proxy of a
// sandbox: the only process by which the sandbox reaches the network. It runs
// beside the sandbox, accepts connections on listeners that the init stage has
// made inside, and ends with the sandbox.
const EgressArg = "sandbox-egress"

// The proxy's descriptors.
const (
	fdEgressConfig = 3 // a pipe with an egressConfig
	fdEgressFirst  = 4 // a pidfd of the sandbox's first process
	fdEgressSocket = 5 // a UNIX socket by which the listeners come
)

// egressConfig is what the proxy needs. It comes through a pipe, because it may
// hold the password of the host's proxy.
type egressConfig struct {
	Network sandbox.Network
	Token   string
	Proxies map[string]string // the host's variables for proxies
}

// proxyVariables tell the proxy through which other one the host reaches the
// network (see net/http.ProxyFromEnvironment).
var proxyVariables = []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy"}

// proxyToken returns what programs must show the proxy of a sandbox, which at the
// landlock level listens where all users of the machine can connect.
func proxyToken(pl *plan) string {
	if pl.Level == LevelLandlock && !pl.Network.None() {
		return rand.Text()
	}
	return ""
}

// proxySockets returns the two ends of what the listeners are sent through; nil
// where there is no proxy.
func proxySockets(pl *plan) (inside, outside *os.File, err error) {
	if pl.Network.None() || pl.Level == LevelNone {
		return nil, nil, nil
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make sockets for the proxy: %w", err)
	}
	return os.NewFile(uintptr(fds[0]), "listeners in"), os.NewFile(uintptr(fds[1]), "listeners out"), nil
}

// startEgress starts the proxy of the sandbox whose first process is pid. Its end
// of socket gets the listeners.
func (p *Provider) startEgress(ctx context.Context, pid int, pl *plan, socket, log *os.File) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	first, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return fmt.Errorf("watch the sandbox for its proxy: %w", err)
	}
	defer unix.Close(first)
	r, w, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("make pipe: %w", err)
	}
	defer w.Close()
	attr := &syscall.ProcAttr{
		Dir: "/", Env: []string{"GOMAXPROCS=2", "GOGC=50", "GOTRACEBACK=none"}, Sys: &syscall.SysProcAttr{Setsid: true},
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		r.Close()
		return err
	}
	attr.Files = []uintptr{null.Fd(), log.Fd(), log.Fd(), r.Fd(), uintptr(first), socket.Fd()}
	proxy, err := syscall.ForkExec(p.opt.Self, []string{"deft", EgressArg}, attr)
	null.Close()
	r.Close()
	if err != nil {
		return fmt.Errorf("start the sandbox's proxy: %w", err)
	}
	if err := p.collect(proxy); err != nil {
		return err
	}
	c := egressConfig{Network: pl.Network, Token: pl.Token, Proxies: map[string]string{}}
	for _, name := range proxyVariables {
		if v := os.Getenv(name); v != "" {
			c.Proxies[name] = v
		}
	}
	if err := json.NewEncoder(w).Encode(c); err != nil {
		return fmt.Errorf("configure the sandbox's proxy: %w", err)
	}
	return nil
}

// collect waits, in the background, for the end of a proxy, which ends with its
// sandbox. Close ends that wait.
func (p *Provider) collect(pid int) error {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return fmt.Errorf("watch the sandbox's proxy: %w", err)
	}
	f := os.NewFile(uintptr(fd), "pidfd")
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return f.Close()
	}
	p.proxies[f] = true
	p.wg.Go(func() {
		awaitExit(f)
		p.mu.Lock()
		delete(p.proxies, f)
		p.mu.Unlock()
		f.Close()
	})
	return nil
}

// awaitExit waits until a process has ended, and collects it if it is a child,
// which is when exit says how; or, with false, until its pidfd is closed.
func awaitExit(pidfd *os.File) (ended bool, exit *exitStatus) {
	rc, err := pidfd.SyscallConn()
	if err != nil {
		return false, nil // closed before it began
	}
	// A pidfd is readable once the process is a zombie or has ended, pidfd_open(2).
	_ = rc.Read(func(fd uintptr) bool {
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(poll, 0)
		if err == nil && n > 0 {
			ended = true
			var info unix.Siginfo
			// If it is no child of ours, ECHILD says that its parent collects it.
			if unix.Waitid(unix.P_PIDFD, int(fd), &info, unix.WEXITED|unix.WNOHANG, nil) == nil {
				exit = exitOf(&info)
			}
		}
		return ended
	})
	return ended, exit
}

// exitStatus says how a process has ended.
type exitStatus struct {
	code   int
	signal syscall.Signal // 0 if it ended by itself
}

// exitOf reads what waitid(2) reports; nil if another waiter was faster.
func exitOf(info *unix.Siginfo) *exitStatus {
	const exited, statusAt = 1, 24 // CLD_EXITED; si_status on 64-bit machines
	status := *(*int32)(unsafe.Add(unsafe.Pointer(info), statusAt))
	switch {
	case info.Signo == 0:
		return nil
	case info.Code == exited:
		return &exitStatus{code: int(status)}
	}
	return &exitStatus{signal: syscall.Signal(status)}
}
