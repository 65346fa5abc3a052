package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/server/agentserver/config"
	"github.com/deft-dev/deft/settings/profiles"
)

// openProfiles opens the user's LLM profiles, which the agent server uses too.
func openProfiles(std *streams) (*profiles.Stores, error) {
	dir, err := config.PersistenceDir(std.env)
	if err != nil {
		return nil, err
	}
	ring, err := openRing(std, dir)
	if err != nil {
		return nil, err
	}
	return profiles.Open(profiles.Options{Dir: dir, Keys: ring, Env: std.env}), nil
}

// getProfile returns a profile. If there is none, the error names the others.
func getProfile(ctx context.Context, s *profiles.Stores, name string) (profiles.Profile, error) {
	p, err := s.LLMs.Profile(ctx, name)
	if !fault.Is(err, fault.NotFound) {
		return p, err
	}
	e := fault.New(fault.NotFound, "there is no profile "+name)
	if all, err := s.LLMs.Names(ctx); err == nil && len(all) > 0 {
		e = e.Hint("the profiles are: " + strings.Join(all, ", "))
	}
	return p, e
}

// assigned says which profiles the user has given to services and agents.
func assigned(std *streams) (profiles.Assignments, error) {
	dir, err := config.PersistenceDir(std.env)
	if fault.Is(err, fault.Invalid) { // there is no home
		return profiles.Assignments{}, nil
	}
	if err != nil {
		return profiles.Assignments{}, err
	}
	all, err := profiles.ReadAssignments(nil, dir)
	if errors.Is(err, fs.ErrPermission) { // HOME is somebody else's, as under sudo
		fmt.Fprintln(std.err, "deft: note:", oneLine(err.Error())+"; going on without them")
		return profiles.Assignments{}, nil
	}
	return all, err
}
