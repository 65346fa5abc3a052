package main

import (
	"os"

	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/process"
	"github.com/deft-dev/deft/session/build"
)

// registerTrial registers a class of sandboxes as a linked package does, in the programs of
// scripts that set DEFT_TEST_TRIAL. Nothing else in Deft knows of it: the script
// sandbox_class looks for it wherever classes are offered, checked, listed and used.
func registerTrial() {
	if os.Getenv("DEFT_TEST_TRIAL") == "" {
		return
	}
	build.Register(func(c *build.Classes) {
		c.Sandboxes = c.Sandboxes.With(sandbox.Class{
			Name: "trial", Summary: "a process for trials", Noun: "a trial sandbox", Why: "it is a trial",
			Accepts: []sandbox.Feature{sandbox.FeatureGrants}, Warning: "this sandbox is for trials only",
			New: func(o sandbox.Config) (sandbox.Provider, error) {
				return process.New(process.Options{Dir: o.Dir, Self: o.Program, Level: process.LevelLandlock, Hidden: o.Hidden})
			},
		})
	})
}
