package sandboxes

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/deft-dev/deft/cli/console"
	"github.com/deft-dev/deft/cli/listing"
	"github.com/deft-dev/deft/cli/stdio"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/sandbox"
	"github.com/deft-dev/deft/sandbox/image"
)

// Prune removes images that deft run has built.
type Prune struct {
	Unused time.Duration `name:"older-than" help:"Only images that were built so long ago, for example 720h." placeholder:"TIME"`
	DryRun bool          `short:"n" name:"dry-run" help:"Show the images that would be removed, and remove nothing."`
	Yes    bool          `short:"y" help:"Do not ask."`
	JSON   bool          `name:"json" help:"Print each image as a line of JSON."`
}

// Help is shown by `deft sandbox prune --help`.
func (c *Prune) Help() string {
	return `These are images of the Docker engine that --dockerfile and --extra-deps have built for this data directory. Others are never
removed, and neither are those of containers. What a run names again is built again.`
}

// prunedImage is a line of --json.
type prunedImage struct {
	Image   string `json:"image"`
	Created string `json:"created"`
	Bytes   int64  `json:"bytes"`
	Removed bool   `json:"removed"`
	// Kept says why it was not removed.
	Kept string `json:"kept,omitempty"`
}

// Run removes images.
func (c *Prune) Run(ctx context.Context, std *stdio.Streams, w Images) (err error) {
	if c.Unused < 0 {
		return fault.New(fault.Invalid, "--older-than must not be negative").Hint("leave it out for images of any age")
	}
	keepers, closeAll, err := w.keepers()
	defer func() { err = errors.Join(err, closeAll()) }()
	if err != nil {
		return err
	}
	unused, err := c.unused(ctx, w, keepers)
	if err != nil {
		return err
	}
	if len(unused) == 0 {
		fmt.Fprintln(std.Err, "no image is unused")
		return nil
	}
	if err := c.confirm(ctx, std, unused); err != nil {
		return err
	}
	return c.remove(ctx, std, unused)
}

// Images are the images of a data directory.
type Images struct {
	Classes sandbox.Classes
	// Dir returns the directory of all sandboxes.
	Dir func() (string, error)
	// Named returns the images that stored conversations name.
	Named func(ctx context.Context) (map[string]bool, error)
}

// builtImage is an image with its users.
type builtImage struct {
	image.Built
	by image.Keeper
}

// keepers are the providers that keep the images they have built.
func (w Images) keepers() (all []image.Keeper, closeAll func() error, err error) {
	providers, closeAll, err := w.providers()
	for _, p := range providers {
		if k, ok := p.(image.Keeper); ok {
			all = append(all, k)
		}
	}
	return all, closeAll, err
}

// unused are the images that no stored conversation names.
func (c *Prune) unused(ctx context.Context, w Images, keepers []image.Keeper) (unused []builtImage, err error) {
	var all []builtImage
	for _, k := range keepers {
		built, err := k.BuiltImages(ctx)
		if err != nil {
			return nil, err
		}
		for _, b := range built {
			all = append(all, builtImage{b, k})
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	named, err := w.Named(ctx)
	if err != nil {
		return nil, err
	}
	for _, b := range all {
		if !named[b.Name] && time.Since(b.Created) >= c.Unused {
			unused = append(unused, b)
		}
	}
	return unused, nil
}

func (c *Prune) confirm(ctx context.Context, std *stdio.Streams, unused []builtImage) error {
	if !c.JSON {
		w := tabwriter.NewWriter(std.Err, 0, 0, 2, ' ', 0)
		for _, b := range unused {
			fmt.Fprintf(w, "%s\t%s\t%d MB\n", console.Line(b.Name), listing.Age(time.Since(b.Created)), b.Bytes/1e6)
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	if c.Yes || c.DryRun {
		return nil
	}
	return std.Confirm(ctx, "images would be removed", "remove these images?", "nothing was removed", c.JSON)
}

// remove removes images. One that a container uses stays, and is no error.
func (c *Prune) remove(ctx context.Context, std *stdio.Streams, unused []builtImage) error {
	var errs []error
	for _, b := range unused {
		line := prunedImage{Image: b.Name, Created: b.Created.UTC().Format(time.RFC3339), Bytes: b.Bytes}
		if !c.DryRun {
			err := b.by.RemoveBuiltImage(ctx, b.Built)
			if line.Removed = err == nil; err != nil {
				line.Kept = stdio.OneLine(err.Error())
			}
			if err != nil && !fault.Is(err, fault.Conflict) {
				errs = append(errs, err)
			}
		}
		var err error
		switch {
		case c.JSON:
			err = std.PrintJSON(line)
		case line.Removed:
			_, err = fmt.Fprintln(std.Out, "removed", console.Line(b.Name))
		case line.Kept != "":
			_, err = fmt.Fprintln(std.Err, "kept", console.Line(b.Name)+":", console.Line(line.Kept))
		}
		if err != nil {
			return errors.Join(append(errs, err)...)
		}
	}
	return errors.Join(errs...)
}
