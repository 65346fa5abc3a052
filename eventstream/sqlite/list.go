package sqlite

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
)

// Info implements [eventstream.Stream].
func (s *Store) Info(ctx context.Context, id event.ConversationID) (eventstream.Info, error) {
	var info eventstream.Info
	err := s.pool.read(ctx, func(db *conn) error {
		err := notFound(id)
		r := db.query(selectInfo, string(id))
		if r.next() {
			info, err = scanInfo(r)
		}
		return cmp.Or(r.close(), err)
	})
	return info, err
}

// Last implements [eventstream.Stream].
func (s *Store) Last(ctx context.Context, id event.ConversationID) (eventstream.Seq, error) {
	return view(ctx, s, id, func(_ *conn, c *conversation) (eventstream.Seq, error) { return c.events, nil })
}

// List implements [eventstream.Stream]. The order is that of the times that
// Info shows; conversations of the same time are in the order of creation.
func (s *Store) List(ctx context.Context, q eventstream.ListQuery) (eventstream.ListPage, error) {
	var page eventstream.ListPage
	limit := cmp.Or(max(q.Limit, 0), defaultLimit)
	err := s.pool.read(ctx, func(db *conn) error {
		sql, args, err := listQuery(db, q, limit+1)
		if err != nil {
			return err
		}
		r := db.query(sql, args...)
		for r.next() {
			info, err := scanInfo(r)
			if err != nil {
				return cmp.Or(r.close(), err)
			}
			if len(page.Infos) == limit {
				page.NextID = position(q, r)
				break
			}
			page.Infos = append(page.Infos, info)
		}
		return r.close()
	})
	if err != nil {
		return eventstream.ListPage{}, fmt.Errorf("list conversations: %w", err)
	}
	return page, nil
}

// position names the row of a listing that r is at by what it is ordered by,
// so that a page can start there even if the conversation has been deleted or
// updated meanwhile.
func position(q eventstream.ListQuery, r *rows) string {
	at := r.text(6)
	if q.ByUpdated {
		at = r.text(7)
	}
	return at + "_" + strconv.FormatInt(r.int(0), 10)
}

func parsePosition(s string) (at string, key int64, ok bool) {
	at, number, ok := strings.Cut(s, "_")
	key, err := strconv.ParseInt(number, 10, 64)
	return at, key, ok && err == nil && len(at) == len(timeFormat)
}

// listQuery returns the query of one page. It selects the keys first, so that
// whole rows are never sorted.
func listQuery(db *conn, q eventstream.ListQuery, limit int) (sql string, args []any, err error) {
	column, direction, from := "created_at", " DESC", "<="
	if q.ByUpdated {
		column = "updated_at"
	}
	if q.Ascending {
		direction, from = "", ">="
	}
	where := " WHERE 1"
	if q.Owner != "" {
		where += " AND owner = ?"
		args = append(args, q.Owner)
	}
	switch q.Status {
	case "":
	case "idle": // most are: with +, which reads them in the right order instead of sorting them
		where += " AND +status IN ('idle', '')"
	default:
		where += " AND status = ?"
		args = append(args, q.Status)
	}
	at, key, ok := parsePosition(q.PageID)
	if !ok && q.PageID != "" {
		r := db.query("SELECT key, "+column+" FROM conversations WHERE id = ?", q.PageID)
		if ok = r.next(); ok {
			key, at = r.int(0), r.text(1)
		}
		if err := r.close(); err != nil {
			return "", nil, err
		}
	}
	if ok {
		where += " AND (" + column + ", key) " + from + " (?, ?)"
		args = append(args, at, key)
	}
	order := " ORDER BY " + column + direction + ", key" + direction
	return "SELECT " + listColumns + " FROM (SELECT key FROM conversations" + where + order + " LIMIT ?) k" +
		" CROSS JOIN conversations c ON c.key = k.key ORDER BY c." + column + direction + ", c.key" + direction, append(args, int64(limit)), nil
}
