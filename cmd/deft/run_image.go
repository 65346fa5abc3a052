package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/deft-dev/deft/internal/console"
	"github.com/deft-dev/deft/internal/workspacedir"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/docker"
	"github.com/deft-dev/deft/sandbox/image"
	"github.com/deft-dev/deft/session/build"
)

// buildImage builds what --dockerfile and --extra-deps ask for, and returns the
// container with that image.
func (c *runCmd) buildImage(ctx context.Context, std *streams, p paths, with sandbox.Container) (_ sandbox.Container, err error) {
	hidden := append(existing(userDirs(std.env)...), p.data)
	if c.Dockerfile != "" {
		rules := workspacedir.Rules{Home: std.env("HOME"), Data: hidden, What: "the directory of the Dockerfile"}
		if _, err := rules.Check(filepath.Dir(c.Dockerfile)); err != nil {
			return with, err
		}
	}
	engine, err := docker.New(docker.Options{Dir: filepath.Join(p.sandboxes(), build.DockerSandbox)})
	if err != nil {
		return with, err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	show := func(line string) {
		if line = console.Line(line); !c.Quiet && strings.TrimSpace(line) != "" {
			fmt.Fprintln(std.err, "image:", line)
		}
	}
	name, err := engine.BuildImage(ctx, image.Request{
		Base: c.Image, Dockerfile: c.Dockerfile, ExtraDeps: c.ExtraDeps, Hidden: hidden, Refresh: c.Pull == sandbox.PullAlways,
	}, show)
	with.Image, with.Pull = name, sandbox.PullNever // it is on this machine only
	return with, err
}
