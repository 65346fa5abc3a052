package doctor

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
)

// Store is the part of [eventstream.Stream] that is read for damage.
type Store interface {
	List(ctx context.Context, q eventstream.ListQuery) (eventstream.ListPage, error)
	Read(ctx context.Context, id event.ConversationID, from eventstream.Seq) iter.Seq2[eventstream.Record, error]
}

// storeTime bounds how long the store is read for damage.
const storeTime = 10 * time.Second

func (h Host) checkStore(ctx context.Context) Check {
	err := h.StoreError
	if err == nil {
		err = readStore(ctx, h.Store)
	}
	if err != nil {
		c := failed(dataCheck, fault.KindOf(err).ExitCode(), err)
		c.Text = h.Data + ": " + c.Text
		return c
	}
	return Check{Name: dataCheck, State: OK, Text: h.Data + ": ok"}
}

// readStore reads the store, all of it if that does not take too long.
func readStore(ctx context.Context, s Store) error {
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	q := eventstream.ListQuery{ByUpdated: true}
	for {
		page, err := s.List(ctx, q)
		if err != nil {
			return unlessLate(ctx, err)
		}
		for _, i := range page.Infos {
			for _, err := range s.Read(ctx, i.ID, 1) {
				if err != nil {
					return unlessLate(ctx, fmt.Errorf("read conversation %s: %w", i.ID, err))
				}
			}
		}
		if q.PageID = page.NextID; q.PageID == "" {
			return nil
		}
	}
}

// unlessLate is nil where time is up: everything read until then is sound.
func unlessLate(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) && !fault.Is(err, fault.Corrupt) {
		return nil
	}
	return err
}
