package main

import (
	"context"
	"errors"
	"log/slog"

	"github.com/deft-dev/deft/cli/sandboxes"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/eventstream/sqlite"
)

// imagesOf are the images of a data directory, for a command.
func imagesOf(std *streams, g *globalFlags) sandboxes.Images {
	return sandboxes.Images{
		Classes: sandboxClasses(),
		Dir: func() (string, error) {
			p, err := findPaths(g.Data, std.Env)
			return p.sandboxes(), err
		},
		Named: func(ctx context.Context) (named map[string]bool, err error) {
			err = withStore(ctx, std, g, func(p paths, s *sqlite.Store) (err error) {
				named, err = namedImages(ctx, std, p, s)
				return err
			})
			return named, err
		},
	}
}

// namedImages are the images of all stored conversations.
func namedImages(ctx context.Context, std *streams, p paths, s *sqlite.Store) (named map[string]bool, err error) {
	r := newForeground(std, p, s, nil)
	builder, sessions, err := r.open(r.models, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, sessions.Close(context.WithoutCancel(ctx)), builder.Close()) }()
	named = map[string]bool{}
	for q := (eventstream.ListQuery{}); ; {
		page, err := s.List(ctx, q)
		if err != nil {
			return nil, err // a record that cannot be read may name an image
		}
		for _, info := range page.Infos {
			placement, err := sessions.Placement(ctx, info.ID)
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
