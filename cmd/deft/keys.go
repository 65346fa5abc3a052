package main

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/agentserver/config"
	"github.com/deft-dev/deft/internal/keyring"
)

// openRing opens the keys that seal stored secrets, which the agent server uses
// too: the one that the environment names for it, else the one in its
// persistence directory; without a home, the one in dir. Its settings file is
// not read: it lies below the working directory, which may be a hostile project.
func openRing(std *streams, dir string) (*keyring.Ring, error) {
	configured := firstSet(std, []string{"OH_SECRET_KEY", "SESSION_API_KEY", "OH_SESSION_API_KEYS_0"})
	own, err := config.PersistenceDir(std.env)
	if fault.Is(err, fault.Invalid) { // there is no home
		return keyring.Load(dir, configured)
	}
	if err != nil {
		return nil, err
	}
	ring, err := keyring.Load(own, configured)
	if errors.Is(err, fs.ErrPermission) { // HOME is somebody else's, as under sudo
		fmt.Fprintln(std.err, "deft: note:", oneLine(err.Error())+"; going on with a key in "+dir)
		return keyring.Load(dir, configured)
	}
	return ring, err
}
