package sqlite

import (
	"context"
	"fmt"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
)

// transfer copies a store of version 1 to an empty one, log by log, so that
// forks go on sharing events. What is damaged ends it.
type transfer struct {
	old   *version1
	dst   *Store
	moved map[int64]moved // by the old log
	ghost []event.ConversationID
	tell  func(done, of int64)

	conversations, events, total int64
}

// moved tells where the events of an old log are: in log, with numbers that
// are lower by shift.
type moved struct {
	log   int64
	shift eventstream.Seq
}

func (t *transfer) run(ctx context.Context) error {
	if err := t.old.labels.load(t.old.c); err != nil {
		return err
	}
	// The migration syncs the whole file once it is complete.
	if err := t.dst.writer.script("PRAGMA synchronous = OFF"); err != nil {
		return err
	}
	total, _, err := t.old.c.number("SELECT coalesce(sum(h.events - c.base), 0) FROM conversations c JOIN heads h ON h.log = c.log")
	if err != nil {
		return err
	}
	t.total = 2 * total // each is read again
	if err := t.ghosts(ctx); err != nil {
		return err
	}
	if err := t.each(func(c *conversation1) error { return t.conversation(ctx, c) }); err != nil {
		return err
	}
	if err := t.complete(); err != nil {
		return err
	}
	t.events = total
	if err := t.each(func(c *conversation1) error { return t.compare(ctx, c) }); err != nil {
		return err
	}
	t.events = total
	for _, id := range t.ghost {
		if err := t.dst.Delete(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// each visits the old conversations in the order of their logs: sources
// before their forks.
func (t *transfer) each(visit func(*conversation1) error) error {
	for log := int64(0); ; {
		c, err := t.old.after(log)
		if err != nil || c == nil {
			return err
		}
		log = c.log
		if err := visit(c); err != nil {
			return err
		}
	}
}

// ghosts copies the events that forks share with conversations which are
// deleted. They lie in conversations that are deleted again at the end.
func (t *transfer) ghosts(ctx context.Context) error {
	var shared []piece
	r := t.old.c.query("SELECT src, min(first), max(last) FROM segments WHERE src NOT IN (SELECT log FROM conversations) GROUP BY src")
	for r.next() {
		shared = append(shared, piece{src: r.int(0), first: eventstream.Seq(r.int(1)), last: eventstream.Seq(r.int(2)), at: 1})
	}
	if err := r.close(); err != nil {
		return err
	}
	for _, p := range shared {
		id := "deleted-" + event.NewConversationID()
		t.ghost = append(t.ghost, id)
		err := t.copy(ctx, id, p, func(w *writer) error { return w.create(id, packedMeta{[]byte("{}"), []byte{}}, "", 0, nil) }, func(w *writer) error {
			h, err := w.head(id)
			if err != nil {
				return err
			}
			t.moved[p.src] = moved{h.log, p.first - 1}
			return w.settle(h)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *transfer) conversation(ctx context.Context, c *conversation1) error {
	if err := t.checkSpan(c); err != nil {
		return err
	}
	m, err := packMeta(c.id, c.meta)
	if err != nil {
		return err
	}
	pieces, err := t.translate(c)
	if err != nil {
		return err
	}
	_, shared, err := t.old.c.number("SELECT 1 FROM segments WHERE src = ? LIMIT 1", c.log)
	if err != nil {
		return err
	}
	t.conversations++
	return t.copy(ctx, c.id, c.own(), func(w *writer) error { return w.create(c.id, m, c.status, 0, pieces) }, func(w *writer) error {
		h, err := w.head(c.id)
		if err != nil {
			return err
		}
		t.moved[c.log] = moved{log: h.log}
		if shared {
			if err := w.settle(h); err != nil {
				return err
			}
		}
		return w.restore(h, c)
	})
}

// checkSpan refuses a log with other events than its head tells.
func (t *transfer) checkSpan(c *conversation1) error {
	first, last, err := t.old.span(c.log)
	if err != nil {
		return err
	}
	if own := c.own(); own.first <= own.last && first == own.first && last == own.last || own.first > own.last && last == 0 {
		return nil
	}
	return fault.New(fault.Corrupt, fmt.Sprintf("conversation %s has the events %d to %d of its own, and should have %d to %d",
		c.id, first, last, c.base+1, c.events)).Hint(salvageHint)
}

// translate returns the pieces of a fork as they are in the new store.
func (t *transfer) translate(c *conversation1) (pieces []piece, err error) {
	for _, p := range c.pieces {
		to, ok := t.moved[p.src]
		if !ok {
			return nil, fmt.Errorf("a fork shares events with a conversation after it: %w", errShape)
		}
		pieces = append(pieces, piece{src: to.log, first: p.first - to.shift, last: p.last - to.shift, at: p.at})
	}
	return pieces, nil
}

// copy copies events of an old log, a page in each transaction, the first of
// which begins with begin and the last of which ends with end.
func (t *transfer) copy(ctx context.Context, id event.ConversationID, p piece, begin, end func(*writer) error) error {
	for {
		recs, err := t.old.page(id, p)
		if err != nil {
			return err
		}
		ps := make([]packed, len(recs))
		for i := range recs {
			ps[i] = pack(recs[i])
		}
		p.first += eventstream.Seq(len(recs))
		p.at += eventstream.Seq(len(recs))
		err = t.dst.queue.do(ctx, func(w *writer) error {
			if err := begin(w); err != nil {
				return err
			}
			if _, err := w.append(id, ps); err != nil || p.first <= p.last {
				return err
			}
			return end(w)
		})
		if err != nil || p.first > p.last {
			return err
		}
		begin = func(*writer) error { return nil }
		t.events += int64(len(recs))
		t.tell(t.events, t.total)
	}
}

// restore gives a copied conversation the times and the status of the old
// one. It comes last in a transaction.
func (w *writer) restore(h *head, c *conversation1) error {
	h.updated, h.status = c.updated, c.status
	sum := conversationSum(h.log, string(c.id), c.created, int64(h.base), int64(len(h.pieces)))
	if _, err := w.c.exec("UPDATE conversations SET created = ?, sum = ? WHERE log = ?", c.created, sum, h.log); err != nil {
		return err
	}
	delete(w.dirty, c.id) // or it would be updated now
	return w.save(h)
}
