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
	return nil
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
