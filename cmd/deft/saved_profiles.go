package main

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/deft-dev/deft/cli/stdio"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/server/agentserver/config"
	"github.com/deft-dev/deft/settings/profiles"
)

// openProfiles opens the user's LLM profiles, which the agent server uses too.
func openProfiles(std *streams) (*profiles.Stores, error) {
	dir, err := config.PersistenceDir(std.Env)
	if err != nil {
		return nil, err
	}
	ring, err := openRing(std, dir)
	if err != nil {
		return nil, err
	}
	return profiles.Open(profiles.Options{Dir: dir, Keys: ring, Env: std.Env}), nil
}

// assigned says which profiles the user has given to services and agents.
func assigned(std *streams) (profiles.Assignments, error) {
	dir, err := config.PersistenceDir(std.Env)
	if fault.Is(err, fault.Invalid) { // there is no home
		return profiles.Assignments{}, nil
	}
	if err != nil {
		return profiles.Assignments{}, err
	}
	all, err := profiles.ReadAssignments(nil, dir)
	if errors.Is(err, fs.ErrPermission) { // HOME is somebody else's, as under sudo
		fmt.Fprintln(std.Err, "deft: note:", stdio.OneLine(err.Error())+"; going on without them")
		return profiles.Assignments{}, nil
	}
	return all, err
}
