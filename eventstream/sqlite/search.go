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

// Search implements [eventstream.Stream].
func (s *Store) Search(ctx context.Context, id event.ConversationID, q eventstream.Query) (eventstream.Page, error) {
	var page eventstream.Page
	limit := q.Limit
	if limit <= 0 {
		limit = defaultLimit
	}
	err := s.pool.read(ctx, func(db *conn) error {
		c, err := load(db, id)
		if err != nil {
			return err
		}
		first, last, err := c.bounds(db, q)
		if err != nil {
			return err
		}
		return c.search(ctx, db, q, first, last, func(r eventstream.Record) bool {
			if len(page.Records) == limit {
				page.NextID = r.ID
				return false
			}
			page.Records = append(page.Records, r)
			return true
		})
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
		c, err := load(db, id)
		if err != nil {
			return err
		}
		index, where, args := filter(q)
		switch {
		case q.Body != "":
			return c.search(ctx, db, q, 1, c.events, func(eventstream.Record) bool { n++; return true })
		case where == "":
			n = int(c.events)
			return nil
		}
		for _, g := range c.parts(1, c.events) {
			r := db.queryOnce("SELECT count(*) FROM events e"+index+inSegment+where, g.args(args)...)
			if r.next() {
				n += int(r.int(0))
			}
			if err := r.close(); err != nil {
				return err
			}
		}
		return nil
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
		c, err := load(db, id)
		if err != nil {
			return err
		}
		r, found, err := c.find(db, ev, c.events)
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

// find returns the event of an id if it is among the events up to last.
func (c *conversation) find(db *conn, id event.ID, last eventstream.Seq) (rec eventstream.Record, found bool, err error) {
	at := map[int64]eventstream.Seq{} // in each source, 0 if it is not there
	for _, g := range c.parts(1, last) {
		seq, known := at[g.source]
		if !known {
			n, _, err := db.number("SELECT seq FROM events WHERE conversation = ? AND id = ?", g.source, string(id))
			if err != nil {
				return rec, false, err
			}
			seq = eventstream.Seq(n)
			at[g.source] = seq
		}
		if seq >= g.sourceFirst && seq < g.sourceFirst+g.events {
			rec, err = c.event(db, g, g.first+seq-g.sourceFirst)
			return rec, err == nil, err
		}
	}
	return rec, false, nil
}

// event reads one event of a segment, by its seq in the conversation.
func (c *conversation) event(db *conn, g segment, seq eventstream.Seq) (rec eventstream.Record, err error) {
	found, intact := false, false
	r := db.query(selectEvents+" WHERE e.conversation = ? AND e.seq = ?", g.source, int64(g.sourceFirst+seq-g.first))
	if found = r.next(); found {
		_, rec, intact = scanEvent(r)
		rec.Seq = seq
	}
	err = r.close()
	switch {
	case err != nil:
		return rec, unreadable(c.id, seq, err)
	case !found:
		return rec, damaged(c.id, seq, missing)
	case !intact:
		return rec, damaged(c.id, seq, mismatch)
	}
	return rec, nil
}

// bounds returns the range that a page may come from.
func (c *conversation) bounds(db *conn, q eventstream.Query) (first, last eventstream.Seq, err error) {
	first, last = 1, c.events
	if q.PageID == "" {
		return first, last, nil
	}
	start, found, err := c.find(db, q.PageID, c.events)
	if err != nil || !found {
		return first, last, err
	}
	if q.Order == eventstream.Descending {
		return first, start.Seq, nil
	}
	return start.Seq, last, nil
}

// filter returns the index that a query needs, if it is not the primary key,
// its conditions on columns, and their arguments.
func filter(q eventstream.Query) (index, where string, args []any) {
	kinds := q.Kinds
	if q.Body != "" { // is searched for in messages only
		kinds = []string{eventstream.KindMessage}
		if len(q.Kinds) > 0 && !slices.Contains(q.Kinds, eventstream.KindMessage) {
			return "", " AND 0", nil
		}
	}
	switch len(kinds) {
	case 0:
	case 1:
		index, where = " INDEXED BY events_kind", " AND e.kind = ?"
	default: // + keeps SQLite from sorting all events of these kinds
		where = " AND +e.kind IN (?" + strings.Repeat(", ?", len(kinds)-1) + ")"
	}
	for _, k := range kinds {
		args = append(args, k)
	}
	for _, c := range []struct{ column, value string }{
		{"e.source =", string(q.Source)}, {"e.timestamp >=", string(q.From)}, {"e.timestamp <", string(q.Before)},
	} {
		if c.value != "" {
			where += " AND " + c.column + " ?"
			args = append(args, c.value)
		}
	}
	return index, where, args
}

// args returns the arguments of a query for the events of a segment.
func (g segment) args(more []any) []any {
	return append([]any{g.source, int64(g.sourceFirst), int64(g.sourceFirst + g.events - 1)}, more...)
}

// search visits the selected events of a range in the query's order, until
// visit returns false.
func (c *conversation) search(ctx context.Context, db *conn, q eventstream.Query, first, last eventstream.Seq, visit func(eventstream.Record) bool) error {
	parts, order := c.parts(first, last), ""
	if q.Order == eventstream.Descending {
		order = " DESC"
		slices.Reverse(parts)
	}
	index, where, args := filter(q)
	lower := strings.ToLower(q.Body)
	for _, g := range parts {
		more, next, step := true, g.first, eventstream.Seq(1)
		if q.Order == eventstream.Descending {
			next, step = g.last(), -1
		}
		r := db.queryOnce(selectEvents+index+inSegment+where+" ORDER BY e.seq"+order, g.args(args)...)
		for more && r.next() {
			_, rec, intact := scanEvent(r)
			rec.Seq += g.first - g.sourceFirst
			switch {
			case ctx.Err() != nil:
				r.err = canceled(ctx.Err())
			case where == "" && rec.Seq != next:
				r.err = damaged(c.id, next, missing)
			case !intact:
				r.err = damaged(c.id, rec.Seq, mismatch)
			case lower == "" || eventstream.TextContains(rec.JSON, lower):
				more = visit(rec)
			}
			next += step
		}
		err := r.close()
		if err == nil && where == "" && more && next >= g.first && next <= g.last() {
			err = damaged(c.id, next, missing)
		}
		if err != nil || !more {
			return err
		}
	}
	return nil
}
