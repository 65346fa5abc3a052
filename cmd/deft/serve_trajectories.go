package main

import (
	"context"
	"io"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/eventstream/openhands"
)

// Bounds of the events in a zip file of a conversation, in bytes: of those that are
// stored, and of those that are held in memory to be replayed.
const (
	maxUnzipped = 256 << 20
	maxReplayed = 16 << 20
)

// trajectories are [conversations.Trajectories] in OpenHands' form.
type trajectories struct{}

func (trajectories) Import(ctx context.Context, s eventstream.Stream, id event.ConversationID, meta eventstream.Meta, r *io.SectionReader) error {
	in, err := openhands.Unzipped(r, maxUnzipped)
	if err != nil {
		return err
	}
	_, err = openhands.ImportTrajectory(ctx, s, id, meta, in)
	return err
}

func (trajectories) Title(r *io.SectionReader) (string, error) { return openhands.Title(r) }

func (trajectories) Read(r *io.SectionReader) ([]event.Event, error) {
	in, err := openhands.Unzipped(r, maxReplayed)
	if err != nil {
		return nil, err
	}
	return openhands.ReadTrajectory(in)
}
