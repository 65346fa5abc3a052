package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/internal/landlock"
	"github.com/deft-dev/deft/sandbox/internal/egress"
)

// maxProxyFiles bounds the descriptors of a proxy: two for each connection, and
// some for look-ups.
const maxProxyFiles = 2*egress.MaxConnections + 128

// restrictedArg is the second argument of a proxy that has given up its rights.
const restrictedArg = "restricted"

// runEgress is the proxy's process. It gives up its rights and executes itself
// again, since rights belong to a thread.
func runEgress(args []string) int {
	var err error
	if len(args) > 0 && args[0] == restrictedArg {
		err = serveEgress()
	} else {
		runtime.LockOSThread()
		err = restrictEgress()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "sandbox proxy:", err)
		return 1
	}
	return 0
}

// restrictEgress leaves this process without capabilities, and without the right to
// change files, to listen and to signal others.
func restrictEgress() error {
	for res, limit := range map[int]uint64{unix.RLIMIT_CORE: 0, unix.RLIMIT_NOFILE: maxProxyFiles} {
		if err := unix.Setrlimit(res, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
			return fmt.Errorf("set limits: %w", err)
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set no_new_privs: %w", err)
	}
	if err := landlockEgress(); err != nil {
		return fmt.Errorf("apply Landlock: %w", err)
	}
	if err := dropCapabilities(nil); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	if err := loadFilter(false, true); err != nil {
		return fmt.Errorf("load seccomp filter: %w", err)
	}
	return syscall.Exec("/proc/self/exe", []string{"deft", EgressArg, restrictedArg}, os.Environ())
}

// landlockEgress refuses everything that changes files, as far as the kernel can.
func landlockEgress() error {
	abi, err := landlock.ABI()
	if err != nil {
		return nil // the sandbox's report says that there is no Landlock
	}
	limited := limitedBy(abi, &plan{Level: LevelLandlock})
	limited.Handled_access_fs &^= landlock.Read
	limited.Handled_access_net &^= unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	rules, err := landlock.New(limited)
	if err != nil {
		return err
	}
	defer rules.Close()
	return rules.RestrictThread()
}

// serveEgress serves until the sandbox ends.
func serveEgress() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("protect memory: %w", err)
	}
	for fd := fdEgressConfig; fd <= fdEgressSocket; fd++ {
		unix.CloseOnExec(fd)
	}
	var c egressConfig
	if err := json.NewDecoder(os.NewFile(fdEgressConfig, "config")).Decode(&c); err != nil {
		return fmt.Errorf("read configuration: %w", err)
	}
	listeners, err := receiveListeners(fdEgressSocket)
	if err != nil || len(listeners) == 0 {
		return err
	}
	for name, value := range c.Proxies {
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	p := egress.New(egress.Options{Network: c.Network, Token: c.Token, Upstream: http.ProxyFromEnvironment})
	var g errgroup.Group
	for _, l := range listeners {
		g.Go(func() error { return p.Serve(l) })
	}
	for {
		poll := []unix.PollFd{{Fd: fdEgressFirst, Events: unix.POLLIN}}
		_, err := unix.Poll(poll, -1)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	return errors.Join(p.Close(), g.Wait())
}

// receiveListeners takes over what the init stage sends, nothing if it has failed.
func receiveListeners(socket int) (all []net.Listener, err error) {
	defer unix.Close(socket)
	oob := make([]byte, unix.CmsgSpace(2*4))
	n, oobn, _, _, err := unix.Recvmsg(socket, make([]byte, 1), oob, unix.MSG_CMSG_CLOEXEC)
	if err != nil || n == 0 {
		return nil, err
	}
	messages, err := unix.ParseSocketControlMessage(oob[:oobn])
	if err != nil {
		return nil, err
	}
	for _, m := range messages {
		fds, err := unix.ParseUnixRights(&m)
		if err != nil {
			return nil, err
		}
		for _, fd := range fds {
			f := os.NewFile(uintptr(fd), "listener")
			l, err := net.FileListener(f)
			f.Close()
			if err != nil {
				return nil, fmt.Errorf("take over listener: %w", err)
			}
			all = append(all, l)
		}
	}
	return all, nil
}
