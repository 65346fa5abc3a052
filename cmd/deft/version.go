package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// version is set by the linker in releases.
var version = "dev"

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
		return printJSON(std, map[string]string{
			"version": version, "revision": revision, "go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH,
		})
	}
	_, err := fmt.Fprintf(std.out, "deft %s %s %s/%s\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}
