// Package socketpath connects to UNIX sockets whose paths are longer than a socket
// address holds. It is safe for concurrent use.
package socketpath

import (
	"context"
	"fmt"
	"net"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/fault"
)

// maxLength is the longest path in a UNIX socket address, unix(7), without the
// terminating zero byte.
const maxLength = 107

// Dial connects to the socket of a sandbox. The error is of kind
// fault.Unavailable.
func Dial(ctx context.Context, path string) (net.Conn, error) {
	addr, done, err := Short(path)
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

// Short returns a path to the same socket that fits an address. It is valid until
// done is called.
func Short(path string) (short string, done func(), err error) {
	if len(path) <= maxLength {
		return path, func() {}, nil
	}
	fd, err := unix.Open(filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", nil, fmt.Errorf("open %s: %w", filepath.Dir(path), err)
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", fd, filepath.Base(path)), func() { unix.Close(fd) }, nil
}
