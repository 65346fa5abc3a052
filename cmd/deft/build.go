package main

import (
	"context"
	"fmt"
	"os"

	"github.com/deft-dev/deft/cli/custombuild"
	"github.com/deft-dev/deft/fault"
)

type buildCmd struct {
	With   []string `required:"" sep:"none" placeholder:"MODULE" help:"Go package to link in: its import path, with @VERSION or =DIR, where its source is. May be repeated."`
	Output string   `short:"o" default:"deft" type:"path" placeholder:"FILE" help:"Program to write (default: deft, in this directory)."`
	Source string   `type:"existingdir" placeholder:"DIR" help:"Checkout of Deft to build (default: this release's source, by the Go module proxy)."`
}

// Help implements kong.HelpProvider.
func (c *buildCmd) Help() string {
	return `The packages register what they bring when they are initialized: executors, tools,
agents, runtimes and sandboxes (see docs/executors.md). It needs a Go toolchain.

    deft build --with example.com/deploy@v1.2.0 -o ~/bin/deft
    deft build --with example.com/deploy=../deploy --source ~/src/deft`
}

// Run builds the program.
func (c *buildCmd) Run(ctx context.Context, std *streams) error {
	o := custombuild.Options{Source: c.Source, Version: version, Output: c.Output, Log: std.Err}
	for _, text := range c.With {
		m, err := custombuild.ParseModule(text)
		if err != nil {
			return err
		}
		o.With = append(o.With, m)
	}
	if o.Source == "" && version == "dev" {
		return fault.New(fault.Invalid, "this Deft is no release, so its source is not known").Hint("name a checkout with --source DIR")
	}
	if fi, err := os.Stat(o.Output); err == nil && fi.IsDir() {
		return fault.New(fault.Invalid, o.Output+" is a directory").Hint("name a file with -o FILE")
	}
	fmt.Fprintln(std.Err, "building; the first time takes minutes")
	if err := custombuild.Build(ctx, o); err != nil {
		return err
	}
	_, err := fmt.Fprintln(std.Out, o.Output)
	return err
}
