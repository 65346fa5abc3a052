package main

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/deft-dev/deft/cli/stdio"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/keyring"
	"github.com/deft-dev/deft/server/agentserver/config"
)

// openRing opens the keys that seal stored secrets, which the agent server uses
// too: the one that the environment names for it, else the one in its
// persistence directory; without a home, the one in dir. Those that were current before
// are in OH_PREVIOUS_SECRET_KEYS. Its settings file is not read: it lies below the
// working directory, which may be a hostile project.
func openRing(std *streams, dir string) (*keyring.Ring, error) {
	configured := firstSet(std, []string{"OH_SECRET_KEY", "SESSION_API_KEY", "OH_SESSION_API_KEYS_0"})
	previous, err := config.PreviousKeys(std.Env)
	if err != nil {
		return nil, err
	}
	own, err := config.PersistenceDir(std.Env)
	if fault.Is(err, fault.Invalid) { // there is no home
		return keyring.Load(dir, configured, previous...)
	}
	if err != nil {
		return nil, err
	}
	ring, err := keyring.Load(own, configured, previous...)
	if errors.Is(err, fs.ErrPermission) { // HOME is somebody else's, as under sudo
		fmt.Fprintln(std.Err, "deft: note:", stdio.OneLine(err.Error())+"; going on with a key in "+dir)
		return keyring.Load(dir, configured, previous...)
	}
	return ring, err
}
