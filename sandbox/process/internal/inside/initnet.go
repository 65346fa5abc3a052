package inside

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/deft-dev/deft/internal/landlock"
	"github.com/deft-dev/deft/sandbox/internal/egresslisten"
)

// limitNetwork makes the listeners of the sandbox's proxy and has the program's
// environment name it. It runs inside the sandbox's network namespace, if there
// is one, and before the restrictions.
func limitNetwork(pl *Plan, o *Outcome) error {
	if !pl.Network || pl.Level == LevelNone {
		return nil
	}
	if pl.Level == LevelLandlock {
		if err := landlockNetwork(pl.AnyHost); err != nil {
			return err
		}
	}
	port, err := egresslisten.Listen(fdProxy, nil)
	if err != nil {
		return err
	}
	pl.ProxyPort = port
	pl.Env = egresslisten.Environment(pl.Env, port, pl.Token)
	o.Features = append(o.Features, "egress-proxy")
	return nil
}

// landlockNetwork says whether Landlock without namespaces enforces the mode. It
// judges connections by port only, so a list of hosts could be left by whoever
// has a server that listens at the proxy's port.
func landlockNetwork(anyHost bool) error {
	if !anyHost {
		return errors.New("without a network namespace commands cannot be limited to a list of hosts")
	}
	abi, err := landlock.ABI()
	if err != nil {
		return err
	}
	if abi < landlock.NetworkABI {
		return errors.New("without a network namespace Landlock ABI 4 is needed")
	}
	return nil
}

func raiseLoopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	ifr, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	ifr.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, ifr)
}
