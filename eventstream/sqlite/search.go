package sqlite

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
)

const defaultLimit = 100

// Search implements [eventstream.Stream]. Kinds and sources are looked for
// in the lumps, which hold the labels of 64 events each, and so are times as
// far as they rule out whole lumps: few records are read that are not wanted.
func (s *Store) Search(ctx context.Context, id event.ConversationID, q eventstream.Query) (eventstream.Page, error) {
	var page eventstream.Page
	limit := q.Limit
	if limit <= 0 {
		limit = defaultLimit
	}
	err := s.pool.read(ctx, func(db *conn) error {
		h, err := s.headOf(db, id)
		if err != nil {
			return err
		}
		first, last, err := s.bounds(db, h, q)
		if err != nil {
			return err
		}
		sc := s.newScan(ctx, db, h, id, q)
		sc.want = limit + 1
		sc.visit = func(r eventstream.Record) bool {
			if len(page.Records) == limit {
				page.NextID = r.ID
				return false
			}
			page.Records = append(page.Records, r)
			return true
		}
		return sc.run(first, last)
	})
	if err != nil {
		return eventstream.Page{}, fmt.Errorf("search conversation %s: %w", id, err)
	}
	return page, nil
}

// Count implements [eventstream.Stream].
func (s *Store) Count(ctx context.Context, id event.ConversationID, q eventstream.Query) (int, error) {
	n := 0
	err := s.pool.read(ctx, func(db *conn) error {
		h, err := s.headOf(db, id)
		if err != nil {
			return err
		}
		sc := s.newScan(ctx, db, h, id, q)
		if sc.labels == nil && q.From == "" && q.Before == "" {
			n = int(h.events)
			return nil
		}
		sc.visit = func(eventstream.Record) bool { n++; return true }
		sc.tally = func(k int) { n += k }
		return sc.run(1, h.events)
	})
	if err != nil {
		return 0, fmt.Errorf("count events of conversation %s: %w", id, err)
	}
	return n, nil
}

// Get implements [eventstream.Stream].
func (s *Store) Get(ctx context.Context, id event.ConversationID, ev event.ID) (eventstream.Record, error) {
	var rec eventstream.Record
	err := s.pool.read(ctx, func(db *conn) error {
		h, err := s.headOf(db, id)
		if err != nil {
			return err
		}
		r, found, err := h.locate(db, ev, hashID(ev), s.readOne(db, h))
		if err == nil && !found {
			err = fault.New(fault.NotFound, fmt.Sprintf("conversation %s has no event %s", id, ev))
		}
		rec = r
		return err
	})
	if err != nil {
		return eventstream.Record{}, err
	}
	return rec, nil
}

func (s *Store) readOne(db *conn, h *head) func(piece) (eventstream.Record, error) {
	return func(p piece) (eventstream.Record, error) { return h.readOne(db, s.labels, p) }
}

func (s *Store) headOf(db *conn, id event.ConversationID) (*head, error) {
	h, err := loadHead(db, id)
	if err == nil && h == nil {
		err = notFound(id)
	}
	return h, err
}

// bounds returns the range that a page may come from.
func (s *Store) bounds(db *conn, h *head, q eventstream.Query) (first, last eventstream.Seq, err error) {
	first, last = 1, h.events
	if q.PageID == "" {
		return first, last, nil
	}
	start, found, err := h.locate(db, q.PageID, hashID(q.PageID), s.readOne(db, h))
	if err != nil || !found {
		return first, last, err
	}
	if q.Order == eventstream.Descending {
		return first, start.Seq, nil
	}
	return start.Seq, last, nil
}

// scanner walks the events that a query selects.
type scanner struct {
	s      *Store
	ctx    context.Context
	db     *conn
	h      *head
	id     event.ConversationID
	q      eventstream.Query
	body   string         // lower case
	labels map[int64]bool // that are wanted, nil for all
	want   int            // how many events the caller can still use, 0 or less for all
	f      *fetcher
	visit  func(eventstream.Record) bool
	// tally is called instead of visit for events that are known to be
	// selected without being read, if it is set.
	tally func(n int)
}

func (s *Store) newScan(ctx context.Context, db *conn, h *head, id event.ConversationID, q eventstream.Query) *scanner {
	sc := &scanner{s: s, ctx: ctx, db: db, h: h, id: id, q: q, body: strings.ToLower(q.Body), f: newFetcher(db, s.labels)}
	kinds := q.Kinds
	if q.Body != "" {
		if len(kinds) > 0 && !slices.Contains(kinds, kindMessage) {
			sc.labels = map[int64]bool{}
			return sc
		}
		kinds = []string{kindMessage}
	}
	if len(kinds) > 0 || q.Source != "" {
		// The table, not the copy, decides: another process may have added
		// labels. A failure to load shows where the events are read.
		_ = s.labels.load(db)
		sc.labels = map[int64]bool{}
		for _, n := range s.labels.matching(kinds, q.Source) {
			sc.labels[n] = true
		}
	}
	return sc
}

// run visits the selected events of a range, in the query's order.
func (sc *scanner) run(first, last eventstream.Seq) error {
	if sc.labels != nil && len(sc.labels) == 0 {
		return nil
	}
	pieces := sc.h.cut(first, last)
	back := sc.q.Order == eventstream.Descending
	if back {
		slices.Reverse(pieces)
	}
	for _, p := range pieces {
		more := true
		err := sc.h.walk(sc.db, p, back, func(r run) (bool, error) {
			if err := sc.ctx.Err(); err != nil {
				return false, canceled(err)
			}
			var err error
			more, err = sc.lump(r, back)
			return more, err
		})
		if err := firstError(err, sc.f.close()); err != nil || !more {
			return err
		}
	}
	return nil
}

// lump visits the selected events of a run.
func (sc *scanner) lump(r run, back bool) (more bool, err error) {
	some, all := sc.within(r.min, r.max)
	if !some {
		return true, nil
	}
	var items []item
	for i, s := range r.spots {
		if sc.labels == nil || sc.labels[s.label] {
			items = append(items, item{r.first + eventstream.Seq(i), s})
		}
	}
	if sc.tally != nil && all && sc.body == "" {
		sc.tally(len(items))
		return true, nil
	}
	if n := max(sc.want, 1); sc.want > 0 && n < len(items) && all && sc.body == "" {
		if back {
			items = items[len(items)-n:]
		} else {
			items = items[:n]
		}
	}
	recs := make([]eventstream.Record, 0, len(items))
	n, why, err := sc.f.fetch(r.src, items, func(rec eventstream.Record) bool {
		rec.Seq += r.at - r.first
		recs = append(recs, rec)
		return true
	})
	if err == nil && why != "" {
		err = damaged(sc.id, items[n].seq+r.at-r.first, why)
	}
	if err != nil {
		return false, err
	}
	if back {
		slices.Reverse(recs)
	}
	for _, rec := range recs {
		if !all {
			if some, _ := sc.within(string(rec.Timestamp), string(rec.Timestamp)); !some {
				continue
			}
		}
		if sc.body == "" || inMessage(rec.JSON, sc.body) {
			sc.want--
			if !sc.visit(rec) {
				return false, nil
			}
		}
	}
	return true, nil
}

// within reports whether some or all of the events between two times may be
// selected.
func (sc *scanner) within(earliest, latest string) (some, all bool) {
	from, before := string(sc.q.From), string(sc.q.Before)
	some = (from == "" || latest >= from) && (before == "" || earliest < before)
	all = (from == "" || earliest >= from) && (before == "" || latest < before)
	return some, all
}
