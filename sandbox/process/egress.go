package process

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/internal/egressproxy"
)

// Refused returns, inside a sandbox with this environment, which hosts its proxy has
// refused of late and the flag that would allow each, the latest last; nil without a
// proxy.
func Refused(ctx context.Context, env []string, within time.Duration) ([]string, error) {
	return egressproxy.Refused(ctx, env, within)
}

// proxyToken returns the token that programs must show the proxy of a sandbox,
// which at the landlock level listens where all users of the machine can connect.
func proxyToken(pl *plan) string {
	if pl.Level == LevelLandlock && pl.Network {
		return rand.Text()
	}
	return ""
}

// proxySockets returns the two ends of the socket that carries the listeners; nil
// where there is no proxy.
func proxySockets(s sandbox.Spec, level string) (inside, outside *os.File, err error) {
	if s.Network.None() || level == LevelNone {
		return nil, nil, nil
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make sockets for the proxy: %w", err)
	}
	return os.NewFile(uintptr(fds[0]), "listeners in"), os.NewFile(uintptr(fds[1]), "listeners out"), nil
}
