package main

import (
	"slices"

	"github.com/alecthomas/kong"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/sandbox"
)

// AfterApply drops variables about containers where this run has none: they are set
// for other runs. Flags stay, for [runCmd.check] to refuse.
func (c *runCmd) AfterApply(k *kong.Context) error {
	chosen, err := sandboxClasses().Choice(c.Sandbox)
	if err != nil {
		return err
	}
	contained := chosen.Has(sandbox.FeatureImage)
	for name, value := range map[string]*string{"image": &c.Image, "pull": &c.Pull, "oci-runtime": &c.OCIRuntime} {
		if (!contained || name == "image" && c.Dockerfile != "") && !given(k, name) {
			*value = ""
		}
	}
	c.given = map[string]bool{}
	for _, l := range c.localLimits() {
		c.given[l.flag] = given(k, l.flag)
	}
	return nil
}

// localLimit is a flag that some sandboxes cannot be given.
type localLimit struct {
	feature        sandbox.Feature
	flag, variable string
	set            bool
	clear          func()
}

// localLimits are this run's limits.
func (c *runCmd) localLimits() []localLimit {
	return []localLimit{
		{sandbox.FeatureNetwork, "net", "DEFT_NET", c.Net != "", func() { c.Net = "" }},
		{sandbox.FeatureGrants, "read", "DEFT_READ", len(c.Read) > 0, func() { c.Read = nil }},
		{sandbox.FeatureGrants, "write", "DEFT_WRITE", len(c.Write) > 0, func() { c.Write = nil }},
		{sandbox.FeatureLimits, "memory", "DEFT_MEMORY", c.Memory != 0, func() { c.Memory = 0 }},
		{sandbox.FeatureLimits, "pids", "DEFT_PIDS", c.Pids != 0, func() { c.Pids = 0 }},
		{sandbox.FeatureLimits, "cpus", "DEFT_CPUS", c.CPUs != 0, func() { c.CPUs = 0 }},
	}
}

// dropLimits drops limits that the sandbox cannot be given and that variables set for
// other runs, and returns the names of these variables. Flags are an error.
func (c *runCmd) dropLimits(chosen sandbox.Choice) (ignored []string, err error) {
	for _, l := range c.localLimits() {
		asked := sandbox.Asked{Feature: l.feature, Settings: []string{"--" + l.flag}, Given: l.set}
		switch err := sandboxClasses().Refuse(chosen, asked); {
		case err == nil:
		case c.given[l.flag]:
			return nil, err
		default:
			l.clear()
			ignored = append(ignored, l.variable)
		}
	}
	return ignored, nil
}

// AfterApply does the same as for [runCmd].
func (c *demoCmd) AfterApply(k *kong.Context) error {
	return onlySandboxes(k, &c.Sandbox, withoutImages())
}

// AfterApply does the same as for [runCmd].
func (c *doctorCmd) AfterApply(k *kong.Context) error {
	if err := onlySandboxes(k, &c.Sandbox, trialClasses()); err != nil {
		return err
	}
	chosen, err := sandboxClasses().Choice(c.Sandbox)
	if !chosen.Has(sandbox.FeatureImage) && !given(k, "image") {
		c.Image = ""
	}
	return err
}

// onlySandboxes is for a command that can use some classes only.
func onlySandboxes(k *kong.Context, chosen *string, of sandbox.Classes) error {
	switch {
	case slices.Contains(of.ChoiceNames(), *chosen):
	case given(k, "sandbox"):
		return fault.New(fault.Invalid, "this command has no --sandbox "+*chosen)
	default:
		*chosen = autoSandbox
	}
	return nil
}

// given reports whether a flag is on the command line.
func given(k *kong.Context, name string) bool {
	for _, p := range k.Path {
		if p.Flag != nil && p.Flag.Name == name && !p.Resolved {
			return true
		}
	}
	return false
}
