package controller

import (
	"context"
	"fmt"
	"runtime"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/state"
)

// chunkLen is how many events one goroutine decodes.
const chunkLen = 256

// chunk holds consecutive events of the stream. Chunks are decoded in parallel
// with reading and folding others: decoding is most of the work of opening
// a long conversation.
type chunk struct {
	recs []eventstream.Record
	evs  []event.Event
	err  error         // of the event behind evs
	done chan struct{} // closed when evs and err are there
}

func (s *chunk) decode() {
	defer close(s.done)
	s.evs = make([]event.Event, 0, len(s.recs))
	for _, rec := range s.recs {
		ev, err := rec.Event()
		if err != nil {
			s.err = err
			return
		}
		s.evs = append(s.evs, ev)
	}
}

// refold folds the whole stream again.
func (c *Controller) refold(ctx context.Context) error {
	c.fold = nil
	f := state.NewFold(func(seq int64) (event.Event, error) { return c.load(ctx, seq) })
	var ahead []*chunk // being decoded, in order
	defer func() {
		for _, s := range ahead {
			<-s.done
		}
	}()
	last := &chunk{done: make(chan struct{})}
	var unread error
	for rec, err := range c.cfg.Stream.Read(ctx, c.cfg.ID, 1) {
		if err != nil {
			unread = fmt.Errorf("read conversation %s: %w", c.cfg.ID, err)
			break
		}
		if last.recs = append(last.recs, rec); len(last.recs) < chunkLen {
			continue
		}
		go last.decode()
		ahead = append(ahead, last)
		last = &chunk{done: make(chan struct{})}
		if len(ahead) > runtime.GOMAXPROCS(0) {
			if err := c.foldChunk(f, ahead[0]); err != nil {
				return err
			}
			ahead = ahead[1:]
		}
	}
	last.decode()
	for _, s := range append(ahead, last) {
		if err := c.foldChunk(f, s); err != nil {
			return err
		}
	}
	if unread != nil { // reported after the events that were read
		return unread
	}
	c.fold = f
	c.snap.Store(f.State())
	return nil
}

func (c *Controller) foldChunk(f *state.Fold, s *chunk) error {
	<-s.done
	for i, ev := range s.evs {
		if err := f.Apply(int64(s.recs[i].Seq), ev); err != nil {
			return fmt.Errorf("fold conversation %s: %w", c.cfg.ID, err)
		}
	}
	if s.err != nil {
		return fmt.Errorf("event %d of conversation %s: %w", s.recs[len(s.evs)].Seq, c.cfg.ID, s.err)
	}
	return nil
}
