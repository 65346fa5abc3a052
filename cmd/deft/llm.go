package main

import (
	"github.com/deft-dev/deft/cli/conversations"
	"github.com/deft-dev/deft/cli/modellist"
	"github.com/deft-dev/deft/cli/profile"
	"github.com/deft-dev/deft/settings/profiles"
	"github.com/deft-dev/deft/spec"
)

// llmCmd works with language models.
type llmCmd struct {
	Test    llmTestCmd         `cmd:"" help:"Try what works with a model: key, streaming, tools, images, length."`
	Models  llmModelsCmd       `cmd:"" help:"List the models that Deft knows, with their limits and prices."`
	Profile llmProfileCmd      `cmd:"" aliases:"profiles" help:"Store models with their settings as profiles, and choose which service uses which."`
	Cost    conversations.Cost `cmd:"" help:"Show what stored conversations used and cost, by service and model."`
}

// llmModelsCmd works with the catalogue of models.
type llmModelsCmd struct {
	List    modellist.List    `cmd:"" default:"withargs" help:"List models."`
	Refresh modellist.Refresh `cmd:"" help:"Take limits and prices over from LiteLLM's price list into a file of your own."`
}

// llmProfileCmd works with stored profiles.
type llmProfileCmd struct {
	List   profile.List   `cmd:"" default:"withargs" help:"List the profiles, and the services that use them."`
	Show   profile.Show   `cmd:"" help:"Print a profile as JSON. A key is never in it."`
	Set    profile.Set    `cmd:"" help:"Make a profile, or change the given values of one."`
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
