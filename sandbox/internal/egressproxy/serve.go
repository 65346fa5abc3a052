package egressproxy

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/sandbox/internal/egress"
)

// Serve is the work of the process: it serves until the sandbox ends.
func Serve() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("protect memory: %w", err)
	}
	for fd := fdConfig; fd <= fdSocket; fd++ {
		unix.CloseOnExec(fd)
	}
	var c config
	if err := json.NewDecoder(os.NewFile(fdConfig, "config")).Decode(&c); err != nil {
		return fmt.Errorf("read configuration: %w", err)
	}
	listeners, err := receiveListeners(fdSocket)
	if err != nil || len(listeners) == 0 {
		return err
	}
	for name, value := range c.Proxies {
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	p := egress.New(egress.Options{Network: c.Network, Hosts: c.Hosts, Token: c.Token, Upstream: http.ProxyFromEnvironment})
	var g errgroup.Group
	for _, l := range listeners {
		g.Go(func() error { return p.Serve(l) })
	}
	for {
		poll := []unix.PollFd{{Fd: fdFirst, Events: unix.POLLIN}}
		_, err := unix.Poll(poll, -1)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	return errors.Join(p.Close(), g.Wait())
}

// receiveListeners takes over the listeners that the init stage sends, none if it
// has failed.
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
