package sandboxes

import (
	"archive/tar"
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/deft-dev/deft/cli/console"
	"github.com/deft-dev/deft/cli/stdio"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/image"
)

// Image describes or builds an image with the programs that some tools need. It is a command line, for kong.
type Image struct {
	Base string   `help:"The image to add to." default:"debian:stable-slim" placeholder:"IMAGE"`
	With []string `help:"Programs to add: browser (Chromium, for browser_tool_set), notebook (Python with ipykernel, for ipython)." enum:"browser,notebook" default:"browser"`
	Tag  string   `help:"Build the image with the Docker engine, under this name." placeholder:"NAME"`
}

// Help is shown by `deft sandbox image --help`.
func (c *Image) Help() string {
	return `Without --tag the Dockerfile is printed. The base is of Debian, Alpine or Fedora, or has the programs already: Ubuntu's own Chromium
is a snap, which does not run in containers. The steps run as root in the engine's default network.

Examples:
  deft sandbox image --tag agents
  deft run --sandbox docker --image agents --tool browser_tool_set "…"
  deft sandbox image --base python:3.13-slim --with browser,notebook | docker build -t agents -`
}

// The instructions that add programs, by their names in --with.
var (
	//go:embed browser.dockerfile
	addBrowser string
	//go:embed notebook.dockerfile
	addNotebook string

	additions = []struct{ name, instructions string }{{"browser", addBrowser}, {"notebook", addNotebook}}
)

// stepNeeds is how a failing step of the Dockerfile begins the line about its needs.
const stepNeeds = "deft: "

// Run prints the Dockerfile, or builds the image.
func (c *Image) Run(ctx context.Context, std *stdio.Streams, w Images) (err error) {
	text, err := c.dockerfile()
	if err != nil {
		return err
	}
	if c.Tag == "" {
		_, err := io.WriteString(std.Out, text)
		return err
	}
	builder, closeAll, err := w.builder()
	defer func() { err = errors.Join(err, closeAll()) }()
	if err != nil {
		return err
	}
	var files bytes.Buffer
	out := tar.NewWriter(&files)
	if err := out.WriteHeader(&tar.Header{Name: "Dockerfile", Mode: 0o644, Size: int64(len(text))}); err != nil {
		return err
	}
	if _, err := io.WriteString(out, text); err != nil {
		return err
	}
	if err := out.Close(); err != nil {
		return err
	}
	var needs string
	err = builder.BuildContext(ctx, image.Context{Files: &files, Tags: []string{c.Tag}, Network: true}, func(line string) {
		if why, ours := strings.CutPrefix(line, stepNeeds); ours {
			needs = why
		}
		fmt.Fprintln(std.Err, "image:", console.Line(line))
	})
	if err != nil && needs != "" { // the error has the long command of the step
		return fault.New(fault.Invalid, "no image was built from "+c.Base).Hint(needs)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(std.Out, c.Tag)
	return err
}

// dockerfile is the text of the Dockerfile.
func (c *Image) dockerfile() (string, error) {
	if c.Base == "" || strings.ContainsAny(c.Base, " \t\r\n") {
		return "", fault.New(fault.Invalid, fmt.Sprintf("%.100q is not the name of an image", c.Base))
	}
	var text strings.Builder
	text.WriteString("FROM " + c.Base + "\nUSER root\n")
	for _, a := range additions {
		if slices.Contains(c.With, a.name) {
			text.WriteString("\n" + a.instructions)
		}
	}
	return text.String(), nil
}

// builder builds images from contexts.
func (w Images) builder() (image.ContextBuilder, func() error, error) {
	providers, closeAll, err := w.providers()
	if err != nil {
		return nil, closeAll, err
	}
	for _, p := range providers {
		if b, ok := p.(image.ContextBuilder); ok {
			return b, closeAll, nil
		}
	}
	return nil, closeAll, fault.New(fault.Unsupported, "no class of sandboxes builds images here").Hint("leave out --tag, and build the Dockerfile that is printed")
}

// providers are the ones of the classes that build images.
func (w Images) providers() (all []sandbox.Provider, closeAll func() error, err error) {
	closeAll = func() error {
		var errs []error
		for _, p := range all {
			if c, ok := p.(io.Closer); ok {
				errs = append(errs, c.Close())
			}
		}
		return errors.Join(errs...)
	}
	dir, err := w.Dir()
	if err != nil {
		return nil, closeAll, err
	}
	for _, class := range w.Classes.Accepting(sandbox.FeatureBuild) {
		p, err := class.New(sandbox.Config{Dir: class.DirIn(dir)})
		if err != nil {
			return all, closeAll, err
		}
		all = append(all, p)
	}
	return all, closeAll, nil
}
