package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/deft-dev/deft/internal/licenses"
)

// version is set by the linker in releases.
var version = "dev"

// linkedIn are the packages that `deft build --with` has added.
var linkedIn []string

type versionCmd struct {
	JSON bool `name:"json" help:"Print as a JSON object."`
}

// Run prints the version.
func (c *versionCmd) Run(std *streams) error {
	revision := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				revision = s.Value
			}
		}
	}
	if c.JSON {
		fields := map[string]any{
			"version": version, "revision": revision, "go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH,
		}
		if len(linkedIn) > 0 {
			fields["with"] = linkedIn
		}
		return std.PrintJSON(fields)
	}
	_, err := fmt.Fprintf(std.Out, "deft %s %s %s/%s\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	for _, m := range linkedIn {
		if err == nil {
			_, err = fmt.Fprintln(std.Out, "with", m)
		}
	}
	return err
}

// licensesCmd prints the licences of the linked modules.
type licensesCmd struct{}

// Run prints them.
func (c *licensesCmd) Run(std *streams) error {
	_, err := io.WriteString(std.Out, licenses.Text)
	return err
}
