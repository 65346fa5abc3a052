package main

import (
	"github.com/deft-dev/deft/cli/profile"
	"github.com/deft-dev/deft/settings/profiles"
	"github.com/deft-dev/deft/spec"
)

// llmProfileCmd works with stored profiles.
type llmProfileCmd struct {
	List   profile.List   `cmd:"" default:"withargs" help:"List the profiles, and the services that use them."`
	Show   profile.Show   `cmd:"" help:"Print a profile as JSON. A key is never in it."`
	Set    profile.Set    `cmd:"" help:"Make a profile, or change what is given of one."`
	Use    profile.Use    `cmd:"" help:"Choose the profile of the agent, or of another service."`
	Delete profile.Delete `cmd:"" help:"Delete a profile, and the key that was stored for it."`
}

// profileWiring opens the profiles of the user.
func profileWiring(std *streams) profile.Wiring {
	return profile.Wiring{
		Stores:   func() (*profiles.Stores, error) { return openProfiles(std) },
		Assigned: func() (profiles.Assignments, error) { return assigned(std) },
		CheckModel: func(l *spec.LLM) error {
			by, err := newOpener(std)
			if err == nil {
				_, err = by.router().New(l.Config(by.known))
			}
			return err
		},
	}
}
