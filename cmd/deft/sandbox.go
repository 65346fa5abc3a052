package main

import (
	"context"

	"github.com/deft-dev/deft/cli/sandboxes"
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/sandbox"
)

// sandboxCmd looks at the sandboxes of conversations.
type sandboxCmd struct {
	Logs    sandboxes.Logs  `cmd:"" help:"Show the log of the server in a sandbox; the output of commands is in the conversation."`
	Stats   sandboxes.Stats `cmd:"" help:"Show a sandbox's use of resources."`
	Classes sandboxes.List  `cmd:"" help:"List the classes of sandboxes with their features."`
	Image   sandboxes.Image `cmd:"" help:"Print a Dockerfile with the programs that tools need, or build it."`
	Prune   sandboxes.Prune `cmd:"" help:"Remove images that were built for sandboxes, and that no stored conversation uses."`
}

// sandboxesOf finds the sandboxes of conversations, which run or are paused, for a command.
func sandboxesOf(ctx context.Context, std *streams, g *globalFlags) sandboxes.With {
	return func(name string, do func(event.ConversationID, sandbox.Sandbox) error) error {
		return withSessions(ctx, std, g, name, silent, func(o opened) error {
			placement, err := o.sessions.Placement(ctx, o.id)
			if err != nil {
				return err
			}
			found, err := o.builder.Sandbox(ctx, placement, o.id)
			if fault.Is(err, fault.NotFound) {
				return fault.New(fault.NotFound, "no sandbox of conversation "+string(o.id)+" runs").Hint("its next command starts one")
			}
			if err != nil {
				return err
			}
			return do(o.id, found)
		})
	}
}

// imagesOf are the images of a data directory, for a command.
func imagesOf(std *streams, g *globalFlags) sandboxes.Images {
	return sandboxes.Images{
		Classes: sandboxClasses(),
		Dir: func() (string, error) {
			p, err := findPaths(g.Data, std.Env)
			return p.sandboxes(), err
		},
		Named: func(ctx context.Context) (named map[string]bool, err error) {
			err = withSessions(ctx, std, g, "", silent, func(o opened) (err error) {
				named, err = o.namedImages(ctx)
				return err
			})
			return named, err
		},
	}
}

// namedImages are the images of all stored conversations.
func (o opened) namedImages(ctx context.Context) (map[string]bool, error) {
	named := map[string]bool{}
	for q := (eventstream.ListQuery{}); ; {
		page, err := o.store.List(ctx, q)
		if err != nil {
			return nil, err // a record that cannot be read may name an image
		}
		for _, info := range page.Infos {
			placement, err := o.sessions.Placement(ctx, info.ID)
			if err != nil {
				return nil, err
			}
			named[placement.Container.Image] = true
		}
		if q.PageID = page.NextID; page.NextID == "" {
			return named, nil
		}
	}
}
