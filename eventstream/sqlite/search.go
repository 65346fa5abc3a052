package sqlite

import (
	"cmp"
	"context"
	"database/sql/driver"
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
	limit := cmp.Or(max(q.Limit, 0), defaultLimit)
	page, err := view(ctx, s, id, func(db *conn, c *conversation) (page eventstream.Page, err error) {
		first, last, err := c.bounds(db, q)
		if err != nil {
			return page, err
		}
		err = c.search(ctx, db, q, first, last, func(r eventstream.Record) bool {
			if len(page.Records) == limit {
				page.NextID = r.ID
				return false
			}
			page.Records = append(page.Records, r)
			return true
		})
		return page, err
	})
	if err != nil {
		return eventstream.Page{}, fmt.Errorf("search conversation %s: %w", id, err)
	}
	return page, nil
}

// Count implements [eventstream.Stream].
func (s *Store) Count(ctx context.Context, id event.ConversationID, q eventstream.Query) (int, error) {
	n, err := view(ctx, s, id, func(db *conn, c *conversation) (n int, err error) {
		index, where, args := filter(q)
		switch {
		case q.Finder() != nil:
			err = c.search(ctx, db, q, 1, c.events, func(eventstream.Record) bool { n++; return true })
			return n, err
		case where == "":
			return int(c.events), nil
		}
		for _, g := range eventstream.Parts(c.runs(), 1, c.events) {
			r := db.queryOnce("SELECT count(*) FROM events e"+index+inSegment+where, argsOf(g, args)...)
			if r.next() {
				n += int(r.int(0))
			}
			if err := r.close(); err != nil {
				return n, err
			}
		}
		return n, nil
	})
	if err != nil {
		return 0, fmt.Errorf("count events of conversation %s: %w", id, err)
	}
	return n, nil
}

// Get implements [eventstream.Stream].
func (s *Store) Get(ctx context.Context, id event.ConversationID, ev event.ID) (eventstream.Record, error) {
	return view(ctx, s, id, func(db *conn, c *conversation) (eventstream.Record, error) {
		rec, found, err := c.find(db, ev, c.events)
		if err == nil && !found {
			err = fault.New(fault.NotFound, fmt.Sprintf("conversation %s has no event %s", id, ev))
		}
		return rec, err
	})
}

// find returns the event of an id if it is among the events up to last.
func (c *conversation) find(db *conn, id event.ID, last eventstream.Seq) (rec eventstream.Record, found bool, err error) {
	at := map[int64]eventstream.Seq{} // in each source, 0 if it is not there
	for _, g := range eventstream.Parts(c.runs(), 1, last) {
		seq, known := at[g.Source]
		if !known {
			n, _, err := db.number("SELECT seq FROM events WHERE conversation = ? AND id = ?", g.Source, string(id))
			if err != nil {
				return rec, false, err
			}
			seq = eventstream.Seq(n)
			at[g.Source] = seq
		}
		if seq >= g.SourceFirst && seq < g.SourceFirst+g.Events {
			seq += g.First - g.SourceFirst
			err = c.search(context.Background(), db, eventstream.Query{}, seq, seq, func(r eventstream.Record) bool { rec = r; return true })
			if err == nil && rec.ID != id {
				err = damaged(c.id, seq, "the index of ids has another one for it")
			}
			return rec, err == nil, err
		}
	}
	return rec, false, nil
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
func filter(q eventstream.Query) (index, where string, args []driver.Value) {
	kinds, none := q.SelectedKinds()
	if none {
		return "", " AND 0", nil
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

// argsOf returns the arguments of a query for the events of a run.
func argsOf(g eventstream.Run, more []driver.Value) []driver.Value {
	return append([]driver.Value{g.Source, int64(g.SourceFirst), int64(g.SourceFirst + g.Events - 1)}, more...)
}

// search visits the selected events of a range in the query's order, until
// visit returns false. Without conditions it notices every missing event.
func (c *conversation) search(ctx context.Context, db *conn, q eventstream.Query, first, last eventstream.Seq, visit func(eventstream.Record) bool) error {
	parts, order, step := eventstream.Parts(c.runs(), first, last), "", eventstream.Seq(1)
	if q.Order == eventstream.Descending {
		order, step = " DESC", -1
		slices.Reverse(parts)
	}
	index, where, args := filter(q)
	query, found := db.queryOnce, q.Finder()
	if where == "" {
		query = db.query
	}
	for _, g := range parts {
		more, next := true, g.First
		if step < 0 {
			next = g.Last()
		}
		r := query(selectEvents+index+inSegment+where+" ORDER BY e.seq"+order, argsOf(g, args)...)
		for more && r.next() {
			_, rec, intact := scanEvent(r)
			rec.Seq += g.First - g.SourceFirst
			switch {
			case ctx.Err() != nil:
				r.err = canceled(ctx.Err())
			case where == "" && rec.Seq != next && r.err == nil:
				r.err = damaged(c.id, next, missing)
			case !intact && where == "":
				r.err = damaged(c.id, next, mismatch)
			case !intact:
				r.err = damaged(c.id, rec.Seq, mismatch)
			case index != "" && rec.Kind != args[0]:
				r.err = damaged(c.id, rec.Seq, "the index of kinds has another one for it")
			case found == nil || found(rec.JSON):
				more = visit(rec)
			}
			next += step
		}
		err := r.close()
		switch lost := next >= g.First && next <= g.Last(); {
		case where != "" || !more || err == nil && !lost:
		case err == nil:
			err = damaged(c.id, next, missing)
		default:
			err = unreadable(c.id, next, err)
		}
		if err != nil || !more {
			return err
		}
	}
	return nil
}
