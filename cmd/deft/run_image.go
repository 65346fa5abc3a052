package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/deft-dev/deft/cli/console"
	"github.com/deft-dev/deft/internal/workspacedir"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/docker"
	"github.com/deft-dev/deft/sandbox/image"
	"github.com/deft-dev/deft/sandbox/remote"
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
	builder, err := c.builder(std, p)
	if err != nil {
		return with, err
	}
	defer func() { err = errors.Join(err, builder.Close()) }()
	show := func(line string) {
		if line = console.Line(line); !c.Quiet && strings.TrimSpace(line) != "" {
			fmt.Fprintln(std.err, "image:", line)
		}
	}
	name, err := builder.BuildImage(ctx, image.Request{
		Base: c.Image, Dockerfile: c.Dockerfile, ExtraDeps: c.ExtraDeps, Hidden: hidden, Refresh: c.Pull == sandbox.PullAlways,
	}, show)
	with.Image, with.Pull = name, sandbox.PullNever // it is on this machine only
	if c.Sandbox == build.RemoteSandbox {
		with.Pull = sandbox.PullMissing // another machine of the API may run it
	}
	return with, err
}

// builder is what builds images where the sandboxes are.
func (c *runCmd) builder(std *streams, p paths) (interface {
	image.Builder
	Close() error
}, error,
) {
	if c.Sandbox == build.RemoteSandbox {
		name := first(c.RuntimeAPIKeyEnv, "DEFT_RUNTIME_API_KEY")
		return remote.New(remote.Options{
			Dir: filepath.Join(p.sandboxes(), build.RemoteSandbox), URL: c.RuntimeAPI, Key: std.env(name), KeyName: name,
		})
	}
	return docker.New(docker.Options{Dir: filepath.Join(p.sandboxes(), build.DockerSandbox)})
}
