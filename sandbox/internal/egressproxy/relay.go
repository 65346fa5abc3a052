package egressproxy

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/sandbox/internal/egresslisten"
)

// The sockets of a sandbox that has a kernel of its own (gVisor) are none of the host's,
// so they cannot be handed over. Its first stage then starts a relay inside: it passes
// connections on to a UNIX socket of the proxy, which decides on them as ever.

// fdRelay is the first of the relay's listeners.
const fdRelay = 3

// Relayed waits for the first stage's message and reports whether it wants a relay. A
// message with listeners stays on the connection.
func Relayed(conn *net.UnixConn) (relay bool, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return false, err
	}
	first := make([]byte, 1)
	var n int
	var rerr error
	err = raw.Read(func(fd uintptr) bool {
		n, _, rerr = unix.Recvfrom(int(fd), first, unix.MSG_PEEK|unix.MSG_DONTWAIT)
		return !errors.Is(rerr, unix.EAGAIN)
	})
	if err = errors.Join(err, rerr); err != nil || n != 1 || first[0] != egresslisten.WantsRelay {
		return false, err
	}
	_, err = conn.Read(first)
	return true, err
}

// Handed returns a socket by which [Serve] gets a listener, which the caller may close.
func Handed(l *net.UnixListener) (*os.File, error) {
	f, err := l.File()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("make socket pair: %w", err)
	}
	err = unix.Sendmsg(pair[0], []byte{0}, unix.UnixRights(int(f.Fd())), nil, 0)
	unix.Close(pair[0])
	if err != nil {
		unix.Close(pair[1])
		return nil, fmt.Errorf("hand over listener: %w", err)
	}
	return os.NewFile(uintptr(pair[1]), "listeners"), nil
}

// Relay is the work of a relay: it passes connections on to the socket at path, until
// its sandbox ends.
func Relay(path string) error {
	var all []net.Listener
	for fd := fdRelay; fd < fdRelay+2; fd++ { // of IPv4 and IPv6
		f := os.NewFile(uintptr(fd), "listener")
		l, err := net.FileListener(f)
		_ = f.Close() // the listener has a copy
		if err == nil {
			all = append(all, l)
		}
	}
	if len(all) == 0 {
		return errors.New("the relay has got no listener")
	}
	var serving sync.WaitGroup
	errs := make([]error, len(all))
	for i, l := range all {
		serving.Go(func() { errs[i] = relay(l, path) })
	}
	serving.Wait()
	return errors.Join(errs...)
}

func relay(l net.Listener, path string) error {
	for {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer conn.Close()
			proxy, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
			if err != nil {
				return // the program sees the end of its connection
			}
			defer proxy.Close()
			join(conn.(*net.TCPConn), proxy)
		}()
	}
}

// join copies both directions until both have ended.
func join(conn *net.TCPConn, proxy *net.UnixConn) {
	var sending sync.WaitGroup
	sending.Go(func() {
		if _, err := io.Copy(proxy, conn); err != nil || proxy.CloseWrite() != nil {
			_ = proxy.Close() // the other direction ends too
		}
	})
	if _, err := io.Copy(conn, proxy); err != nil || conn.CloseWrite() != nil {
		_ = conn.Close() // the other direction ends too
	}
	sending.Wait()
}
