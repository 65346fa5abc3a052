package docker

import "github.com/deft-dev/deft/sandbox"

// Class is containers of a Docker engine.
var Class = sandbox.Class{
	Name: "docker", Summary: "a container for each conversation", Noun: "a container", By: "the Docker engine", Image: DefaultImage, PauseIdle: true,
	Accepts: []sandbox.Feature{
		sandbox.FeatureImage, sandbox.FeatureBuild, sandbox.FeatureMounts, sandbox.FeatureExtraHosts, sandbox.FeatureReadOnly,
		sandbox.FeatureGPUs, sandbox.FeatureDisk, sandbox.FeatureNetwork, sandbox.FeatureGrants, sandbox.FeatureLimits, sandbox.FeaturePorts,
	},
	New: func(c sandbox.Config) (sandbox.Provider, error) {
		return New(Options{Dir: c.Dir, Self: c.Program, Programs: c.Programs, Install: c.Install, Hidden: c.Hidden, GitIdentity: c.GitIdentity})
	},
}
