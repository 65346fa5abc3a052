package main

import (
	"context"
	"io"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/eventstream/openhands"
)

// maxUnzipped bounds the events in a zip file of a conversation, in bytes.
const maxUnzipped = 256 << 20

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
