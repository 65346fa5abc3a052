package process

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/fault"
)

// Files in a sandbox's directory: its server's socket, and what its program writes.
const (
	socketName = "server.sock"
	logName    = "log"
)

// maxSunPath is the longest path in a UNIX socket address, unix(7), without the
// terminating zero byte.
const maxSunPath = 107

// connect connects to a sandbox's socket. Unlike net.Dial it takes paths that
// are longer than a socket address holds. The error is of kind
// fault.Unavailable.
func connect(ctx context.Context, path string) (net.Conn, error) {
	addr, done, err := shortPath(path)
	if err != nil {
		return nil, fault.Wrap(err, fault.Unavailable, "no sandbox answers at "+path)
	}
	defer done()
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", addr)
	if err != nil {
		return nil, fault.Wrap(err, fault.Unavailable, "no sandbox answers at "+path)
	}
	return conn, nil
}

// shortPath returns a path to the same socket that fits an address. It is
// valid until done is called.
func shortPath(path string) (short string, done func(), err error) {
	if len(path) <= maxSunPath {
		return path, func() {}, nil
	}
	fd, err := unix.Open(filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", nil, fmt.Errorf("open %s: %w", filepath.Dir(path), err)
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", fd, filepath.Base(path)), func() { unix.Close(fd) }, nil
}

// listen makes the sandbox's socket and replaces a stale one. The mode of its
// directory keeps other users out before the socket's own mode is set.
func listen(dir string) (*os.File, error) {
	path := filepath.Join(dir, socketName)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("remove stale socket: %w", err)
	}
	addr, done, err := shortPath(path)
	if err != nil {
		return nil, err
	}
	defer done()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: addr, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("make sandbox socket: %w", err)
	}
	l.SetUnlinkOnClose(false)
	defer l.Close()
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, fmt.Errorf("protect sandbox socket: %w", err)
	}
	f, err := l.File()
	if err != nil {
		return nil, fmt.Errorf("pass on sandbox socket: %w", err)
	}
	return f, nil
}
