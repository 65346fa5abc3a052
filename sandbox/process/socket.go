package process

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"

	"github.com/deft-dev/deft/sandbox/internal/socketpath"
)

// Files in a sandbox's directory: its server's socket, and its program's output.
const (
	socketName = "server.sock"
	logName    = "log"
)

// listen makes the sandbox's socket and replaces a stale one. The mode of its
// directory keeps other users out before the socket's own mode is set.
func listen(dir string) (*os.File, error) {
	path := filepath.Join(dir, socketName)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("remove stale socket: %w", err)
	}
	addr, done, err := socketpath.Short(path)
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
