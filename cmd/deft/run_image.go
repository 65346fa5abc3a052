package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/deft-dev/deft/cli/console"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/workspacedir"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/image"
)

// buildImage builds the image of --dockerfile and --extra-deps, and returns the
// container with that image.
func (c *runCmd) buildImage(ctx context.Context, std *streams, p paths, with sandbox.Container) (_ sandbox.Container, err error) {
	hidden := append(existing(userDirs(std.Env)...), p.data)
	if c.Dockerfile != "" {
		rules := workspacedir.Rules{Home: std.Env("HOME"), Data: hidden, What: "the directory of the Dockerfile"}
		if _, err := rules.Check(filepath.Dir(c.Dockerfile)); err != nil {
			return with, err
		}
	}
	chosen, err := c.sandboxes(std.Env).Choice(c.Sandbox)
	if err != nil {
		return with, err
	}
	class := chosen.Class
	provider, err := class.New(sandbox.Config{Dir: class.DirIn(p.sandboxes())})
	if err != nil {
		return with, err
	}
	builder, ok := provider.(imageBuilder)
	if !ok {
		return with, fault.New(fault.Unsupported, "sandboxes of the class "+class.Name+" build no images")
	}
	defer func() { err = errors.Join(err, builder.Close()) }()
	show := func(line string) {
		if line = console.Line(line); !c.Quiet && strings.TrimSpace(line) != "" {
			fmt.Fprintln(std.Err, "image:", line)
		}
	}
	name, err := builder.BuildImage(ctx, image.Request{
		Base: c.Image, Dockerfile: c.Dockerfile, ExtraDeps: c.ExtraDeps, Hidden: hidden, Refresh: c.Pull == sandbox.PullAlways,
	}, show)
	with.Image, with.Pull = name, sandbox.PullNever // it is on this machine only
	if class.Inside != "" {
		with.Pull = sandbox.PullMissing // another machine may run it
	}
	return with, err
}

// imageBuilder is a provider that builds images where its sandboxes are.
type imageBuilder interface {
	image.Builder
	Close() error
}
