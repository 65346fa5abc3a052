package main

import (
	"slices"

	"github.com/alecthomas/kong"

	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/session/build"
)

// AfterApply drops what variables say of containers where this run has none: they are
// set for other runs. Flags stay, for [runCmd.check] to refuse.
func (c *runCmd) AfterApply(k *kong.Context) error {
	contained := c.Sandbox == build.DockerSandbox || c.Sandbox == build.RemoteSandbox
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

// localLimit is a flag that a sandbox of a Runtime API cannot be given.
type localLimit struct {
	flag, variable string
	set            bool
	clear          func()
}

// localLimits are those of this run.
func (c *runCmd) localLimits() []localLimit {
	return []localLimit{
		{"net", "DEFT_NET", c.Net != "", func() { c.Net = "" }},
		{"read", "DEFT_READ", len(c.Read) > 0, func() { c.Read = nil }},
		{"write", "DEFT_WRITE", len(c.Write) > 0, func() { c.Write = nil }},
		{"memory", "DEFT_MEMORY", c.Memory != 0, func() { c.Memory = 0 }},
		{"pids", "DEFT_PIDS", c.Pids != 0, func() { c.Pids = 0 }},
		{"cpus", "DEFT_CPUS", c.CPUs != 0, func() { c.CPUs = 0 }},
	}
}

// forRemote drops what variables say of sandboxes of this machine, and returns the names
// of these variables: they are set for other runs. Flags are an error.
func (c *runCmd) forRemote() (ignored []string, err error) {
	for _, l := range c.localLimits() {
		switch {
		case !l.set:
		case c.given[l.flag]:
			return nil, fault.New(fault.Invalid, "--"+l.flag+" cannot be given to a sandbox of a Runtime API").Hint("the API's own settings decide on that")
		default:
			l.clear()
			ignored = append(ignored, l.variable)
		}
	}
	return ignored, nil
}

// AfterApply is as that of [runCmd].
func (c *demoCmd) AfterApply(k *kong.Context) error {
	return withoutSandboxes(k, &c.Sandbox, build.DockerSandbox, build.RemoteSandbox)
}

// AfterApply is as that of [runCmd].
func (c *doctorCmd) AfterApply(k *kong.Context) error {
	if err := withoutSandboxes(k, &c.Sandbox, build.RemoteSandbox); err != nil {
		return err
	}
	if c.Sandbox != build.DockerSandbox && !given(k, "image") {
		c.Image = ""
	}
	return nil
}

// withoutSandboxes is for a command that cannot use some of the sandboxes.
func withoutSandboxes(k *kong.Context, chosen *string, cannot ...string) error {
	switch {
	case !slices.Contains(cannot, *chosen):
	case given(k, "sandbox"):
		return fault.New(fault.Invalid, "this command has no --sandbox "+*chosen)
	default:
		*chosen = "auto"
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
