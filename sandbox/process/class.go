package process

import "github.com/deft-dev/deft/sandbox"

// Class is the built-in sandbox. Its files lie directly in the directory of all sandboxes.
var Class = described.Made(func(c sandbox.Config) (sandbox.Provider, error) {
	return New(Options{Dir: c.Dir, Self: c.Program, Install: c.Install, Level: c.Level, Hidden: c.Hidden})
})

// described is all of the class but its constructor, which refers to it.
var described = sandbox.Class{
	Name: "process", Summary: "a built-in sandbox around each workspace", Noun: "a process sandbox", By: "this machine", Dir: ".",
	Levels: []sandbox.Level{
		{Name: LevelAuto}, {Name: LevelNamespaces},
		{Name: LevelLandlock, Lacks: []sandbox.Feature{sandbox.FeaturePorts}},
		{Name: LevelNone, Lacks: []sandbox.Feature{sandbox.FeaturePorts}, Open: true},
	},
	Accepts: []sandbox.Feature{sandbox.FeatureNetwork, sandbox.FeatureGrants, sandbox.FeatureLimits, sandbox.FeatureAlias, sandbox.FeaturePorts},
	Why:     "use a sandbox of containers, such as docker",
}
