package main

import "github.com/deft-dev/deft/cli/modellist"

// llmCmd works with language models.
type llmCmd struct {
	Test    llmTestCmd    `cmd:"" help:"Try what works with a model: key, streaming, tools, images, length."`
	Models  llmModelsCmd  `cmd:"" help:"List the models that Deft knows, with their limits and prices."`
	Profile llmProfileCmd `cmd:"" aliases:"profiles" help:"Store models with their settings as profiles, and choose which service uses which."`
	Cost    llmCostCmd    `cmd:"" help:"Show what stored conversations used and cost, by service and model."`
}

// llmModelsCmd works with the catalogue of models.
type llmModelsCmd struct {
	List    modellist.List    `cmd:"" default:"withargs" help:"List models."`
	Refresh modellist.Refresh `cmd:"" help:"Take limits and prices over from LiteLLM's price list into a file of your own."`
}
