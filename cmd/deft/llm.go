package main

import (
	"github.com/deft-dev/deft/cli/conversations"
	"github.com/deft-dev/deft/cli/modelchoice"
	"github.com/deft-dev/deft/cli/modellist"
	"github.com/deft-dev/deft/cli/profile"
)

// llmCmd works with language models.
type llmCmd struct {
	Test    llmTestCmd         `cmd:"" help:"Try a model's abilities: key, streaming, tools, images, length."`
	Models  llmModelsCmd       `cmd:"" help:"List the models that Deft knows, with their limits and prices."`
	Profile llmProfileCmd      `cmd:"" aliases:"profiles" help:"Store models with their settings as profiles, and choose which service uses which."`
	Cost    conversations.Cost `cmd:"" help:"Show tokens and costs of stored conversations, by service and model."`
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
	m := modelchoice.New(std.Env, std.tell)
	return profile.Wiring{Stores: m.Profiles, Assigned: m.Assigned, CheckModel: m.Check}
}
