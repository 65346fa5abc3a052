package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
)

const defaultLimit = 100

// Search implements [eventstream.Stream].
func (s *Store) Search(ctx context.Context, id event.ConversationID, q eventstream.Query) (eventstream.Page, error) {
	var page eventstream.Page
	limit := cmp.Or(max(q.Limit, 0), defaultLimit)
	c, err := s.open(ctx, id, 0)
	if err == nil {
		var first, last eventstream.Seq
		if first, last, err = s.bounds(ctx, c, q); err == nil {
			err = s.scan(ctx, c, q, first, last, limit+1, func(r eventstream.Record) bool {
				if len(page.Records) == limit {
					page.NextID = r.ID
					return false
				}
				page.Records = append(page.Records, r)
				return true
			})
		}
	}
	if err != nil {
		return eventstream.Page{}, fmt.Errorf("search conversation %s: %w", id, s.failed(ctx, err))
	}
	return page, nil
}

// Count implements [eventstream.Stream].
func (s *Store) Count(ctx context.Context, id event.ConversationID, q eventstream.Query) (n int, err error) {
	c, err := s.open(ctx, id, 0)
	switch {
	case err != nil:
	case q.Finder() != nil:
		err = s.scan(ctx, c, q, 1, c.events, pageEvents, func(eventstream.Record) bool { n++; return true })
	case len(q.Kinds) == 0 && q.Source == "" && q.From == "" && q.Before == "":
		n = int(c.events)
	default:
		for _, g := range eventstream.Parts(c.runs(), 1, c.events) {
			where, args := selected(g, q)
			var some int
			if err = s.pool.QueryRow(ctx, "SELECT count(*) FROM events WHERE "+where, args...).Scan(&some); err != nil {
				break
			}
			n += some
		}
	}
	if err != nil {
		return 0, fmt.Errorf("count events of conversation %s: %w", id, s.failed(ctx, err))
	}
	return n, nil
}

const eventColumns = "e.seq, e.id, e.parent_id, e.kind, e.source, e.timestamp, e.body"

// selectByID finds an event by its id. The key is returned if the conversation exists.
const selectByID = `SELECT c.key, f.* FROM conversations c LEFT JOIN LATERAL (
  SELECT ` + eventColumns + ` FROM events e WHERE e.conversation = c.key AND e.id = $2
  UNION ALL
  SELECT g.first + e.seq - g.source_first, e.id, e.parent_id, e.kind, e.source, e.timestamp, e.body FROM segments g JOIN events e
  ON e.conversation = g.source AND e.id = $2 AND e.seq >= g.source_first AND e.seq < g.source_first + g.events
  WHERE g.conversation = c.key AND c.shared > 0
) f ON true WHERE c.id = $1`

// Get implements [eventstream.Stream].
func (s *Store) Get(ctx context.Context, id event.ConversationID, ev event.ID) (eventstream.Record, error) {
	rec, found, err := s.find(ctx, id, ev)
	if err != nil {
		return eventstream.Record{}, s.failed(ctx, err)
	}
	if !found {
		return eventstream.Record{}, fault.New(fault.NotFound, fmt.Sprintf("conversation %s has no event %s", id, ev))
	}
	return rec, nil
}

// find returns an event by its id. NotFound if there is no such conversation.
func (s *Store) find(ctx context.Context, id event.ConversationID, ev event.ID) (rec eventstream.Record, found bool, err error) {
	var key int64
	var seq *eventstream.Seq
	var texts [5]*string
	var body []byte
	err = s.pool.QueryRow(ctx, selectByID, encodeText(string(id)), encodeText(string(ev))).
		Scan(&key, &seq, &texts[0], &texts[1], &texts[2], &texts[3], &texts[4], &body)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return rec, false, notFound(id)
	case err != nil || seq == nil:
		return rec, false, err
	}
	rec, err = newRecord(*seq, [5]string{*texts[0], *texts[1], *texts[2], *texts[3], *texts[4]}, body)
	return rec, err == nil, err
}

// newRecord returns the record of a row of eventColumns.
func newRecord(seq eventstream.Seq, texts [5]string, body []byte) (rec eventstream.Record, err error) {
	if err = decode(&texts[0], &texts[1], &texts[2], &texts[3], &texts[4]); err == nil {
		body, err = decodeBytes(body)
	}
	return eventstream.Record{
		Seq: seq, ID: event.ID(texts[0]), ParentID: event.ID(texts[1]), Kind: texts[2], Source: event.Source(texts[3]),
		Timestamp: event.Timestamp(texts[4]), JSON: body,
	}, err
}

// bounds returns the range that a page may come from.
func (s *Store) bounds(ctx context.Context, c *conversation, q eventstream.Query) (first, last eventstream.Seq, err error) {
	first, last = 1, c.events
	if q.PageID == "" {
		return first, last, nil
	}
	start, found, err := s.find(ctx, c.id, q.PageID)
	if err != nil || !found {
		return first, last, err
	}
	if q.Order == eventstream.Descending {
		return first, start.Seq, nil
	}
	return start.Seq, max(last, start.Seq), nil
}

// selected returns the condition on columns for the events of a segment that a query
// selects, and its arguments.
func selected(g eventstream.Run, q eventstream.Query) (where string, args []any) {
	where = "conversation = $1 AND seq BETWEEN $2 AND $3"
	args = []any{g.Source, g.SourceFirst, g.SourceFirst + g.Events - 1}
	and := func(condition string, arg any) {
		args = append(args, arg)
		where += " AND " + strings.Replace(condition, "$", "$"+strconv.Itoa(len(args)), 1)
	}
	kinds, none := q.SelectedKinds()
	if none {
		where += " AND false"
	}
	switch len(kinds) {
	case 0:
	case 1:
		and("kind = $", encodeText(kinds[0]))
	default:
		stored := make([]string, len(kinds))
		for i, k := range kinds {
			stored[i] = encodeText(k)
		}
		and("kind = ANY($)", stored)
	}
	for _, c := range []struct{ condition, value string }{
		{"source = $", string(q.Source)}, {"timestamp >= $", string(q.From)}, {"timestamp < $", string(q.Before)},
	} {
		if c.value != "" {
			and(c.condition, encodeText(c.value))
		}
	}
	return where, args
}

// scan visits the selected events of a range in the query's order, until visit returns
// false. It reads pages of some events, and of some bytes.
func (s *Store) scan(ctx context.Context, c *conversation, q eventstream.Query, first, last eventstream.Seq, events int, visit func(eventstream.Record) bool) error {
	parts := eventstream.Parts(c.runs(), first, last)
	if q.Order == eventstream.Descending {
		slices.Reverse(parts)
	}
	if found := q.Finder(); found != nil {
		events = pageEvents
		all := visit
		visit = func(r eventstream.Record) bool { return !found(r.JSON) || all(r) }
	}
	for _, g := range parts {
		for g.Events > 0 {
			rest, more, err := s.scanPage(ctx, g, q, min(events, pageEvents), visit)
			if err != nil || !more {
				return err
			}
			g = rest
		}
	}
	return nil
}

// scanPage visits one page of a segment. It returns the rest of the segment, which is
// empty if the page was the last one; more is false when visit has enough.
func (s *Store) scanPage(ctx context.Context, g eventstream.Run, q eventstream.Query, events int, visit func(eventstream.Record) bool) (rest eventstream.Run, more bool, err error) {
	order := ""
	if q.Order == eventstream.Descending {
		order = " DESC"
	}
	where, args := selected(g, q)
	args = append(args, events, pageBytes)
	// The sizes are known without reading the bodies.
	sql := fmt.Sprintf(`SELECT %s, count FROM (
SELECT *, count(*) OVER () AS count, sum(octet_length(body)) OVER (ORDER BY seq%s) - octet_length(body) AS before FROM (
SELECT * FROM events WHERE %s ORDER BY seq%[2]s LIMIT $%[4]d) p) e WHERE before < $%[5]d ORDER BY seq%[2]s`, eventColumns, order, where, len(args)-1, len(args))
	rows, err := s.pool.Query(ctx, sql, args...)
	if err != nil {
		return rest, false, err
	}
	defer rows.Close()
	n, count, at := 0, 0, eventstream.Seq(0)
	for more = true; more && rows.Next(); n++ {
		var texts [5]string
		var body []byte
		if err := rows.Scan(&at, &texts[0], &texts[1], &texts[2], &texts[3], &texts[4], &body, &count); err != nil {
			return rest, false, err
		}
		rec, err := newRecord(at-g.SourceFirst+g.First, texts, body)
		if err != nil {
			return rest, false, err
		}
		more = visit(rec)
	}
	rows.Close()
	switch {
	case rows.Err() != nil || !more:
		return rest, false, rows.Err()
	case n == count && n < events:
		return rest, true, nil
	case order == "":
		done := at - g.SourceFirst + 1
		return eventstream.Run{First: g.First + done, Source: g.Source, SourceFirst: g.SourceFirst + done, Events: g.Events - done}, true, nil
	}
	return eventstream.Run{First: g.First, Source: g.Source, SourceFirst: g.SourceFirst, Events: at - g.SourceFirst}, true, nil
}
