package sqlite

import (
	"context"
	"fmt"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
)

// Fork implements [eventstream.Stream].
func (s *Store) Fork(ctx context.Context, dst, src event.ConversationID, segments []eventstream.Segment, meta eventstream.Meta) error {
	m, err := packMeta(dst, meta)
	if err != nil {
		return err
	}
	err = s.queue.do(ctx, func(w *writer) error {
		h, err := w.head(src)
		if err != nil {
			return err
		}
		pieces, err := share(h, segments)
		if err != nil {
			return err
		}
		if err := w.settle(h); err != nil {
			return err
		}
		return w.create(dst, m, h.status, h.cost, pieces)
	})
	if err != nil {
		return fmt.Errorf("fork conversation %s: %w", src, err)
	}
	return nil
}

// settle makes the events of a log known to forks, which do not read its head.
func (w *writer) settle(h *head) error {
	if h.indexed < h.events {
		if err := w.index(h); err != nil {
			return err
		}
		if err := w.save(h); err != nil {
			return err
		}
	}
	return w.saveTail(h)
}

// saveTail writes the unfinished lump of a log to where those look for it who
// do not read the head: forks and the clean-up.
func (w *writer) saveTail(h *head) error {
	if len(h.tail.spots) == 0 {
		return nil
	}
	return w.saveLump(h.log, &h.tail)
}

// share turns segments of a conversation into pieces of logs.
func share(h *head, segments []eventstream.Segment) ([]piece, error) {
	var out []piece
	var end eventstream.Seq // of the source, so far
	at := eventstream.Seq(1)
	for _, sg := range segments {
		if sg.First < 1 || sg.Last < sg.First || sg.Last > h.events {
			return nil, fault.New(fault.Invalid, fmt.Sprintf("segment %d..%d is not within the %d events of the conversation", sg.First, sg.Last, h.events))
		}
		if sg.First <= end {
			return nil, fault.New(fault.Invalid, fmt.Sprintf("segment %d..%d overlaps the one before it or lies before it", sg.First, sg.Last))
		}
		end = sg.Last
		for _, p := range h.cut(sg.First, sg.Last) {
			p.at = at
			at = p.end() + 1
			if n := len(out); n > 0 && out[n-1].src == p.src && out[n-1].last+1 == p.first {
				out[n-1].last = p.last
				continue
			}
			out = append(out, p)
		}
	}
	return out, nil
}
