package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
)

// infoColumns are the columns of selectHead and those of the meta data.
const infoColumns = headColumns + ", c.metasum, c.meta, c.extra"

// Info implements [eventstream.Stream].
func (s *Store) Info(ctx context.Context, id event.ConversationID) (eventstream.Info, error) {
	var info eventstream.Info
	err := s.pool.read(ctx, func(db *conn) error {
		r := db.query(infoColumns+headTables+" WHERE c.id = ?", string(id))
		found := r.next()
		var err error
		if found {
			info, err = scanInfo(r)
		}
		if closeErr := r.close(); closeErr != nil {
			return closeErr
		}
		if !found {
			return notFound(id)
		}
		return err
	})
	return info, err
}

// scanInfo reads a row of infoColumns.
func scanInfo(r *rows) (eventstream.Info, error) {
	h, _ := scanHead(r)
	if r.err != nil {
		return eventstream.Info{}, r.err
	}
	info := eventstream.Info{
		ID:      event.ConversationID(r.text(3)),
		Created: time.Unix(0, r.int(4)).UTC(),
		Updated: time.Unix(0, h.updated).UTC(),
		Events:  h.events, Status: h.status,
	}
	var err error
	if info.Meta, err = (packedMeta{r.blob(13), r.blob(14)}).unpack(h.log, r.int(12)); err != nil {
		return eventstream.Info{}, fmt.Errorf("decode meta data of conversation %s: %w", info.ID, err)
	}
	return info, nil
}

// List implements [eventstream.Stream]. Ordering by Updated sorts all
// conversations, because an index on it would cost every append.
func (s *Store) List(ctx context.Context, q eventstream.ListQuery) (eventstream.ListPage, error) {
	var page eventstream.ListPage
	limit := q.Limit
	if limit <= 0 {
		limit = defaultLimit
	}
	err := s.pool.read(ctx, func(db *conn) error {
		sql, args, err := listQuery(db, q, limit+1)
		if err != nil {
			return err
		}
		r := db.queryOnce(sql, args...)
		for r.next() {
			info, err := scanInfo(r)
			if err != nil {
				return firstError(r.close(), err)
			}
			if len(page.Infos) == limit {
				page.NextID = info.ID
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

func listQuery(db *conn, q eventstream.ListQuery, limit int) (sql string, args []any, err error) {
	key, dir, cmp := "c.created", " DESC", "<="
	if q.ByUpdated {
		key = "h.updated"
	}
	if q.Ascending {
		dir, cmp = "", ">="
	}
	where := " WHERE 1"
	if q.Status != "" {
		where += " AND h.status = ?"
		args = append(args, q.Status)
	}
	if q.PageID != "" {
		r := db.queryOnce("SELECT "+key+", c.log"+headTables+" WHERE c.id = ?", string(q.PageID))
		if r.next() {
			where += " AND (" + key + ", c.log) " + cmp + " (?, ?)"
			args = append(args, r.int(0), r.int(1))
		}
		if err := r.close(); err != nil {
			return "", nil, err
		}
	}
	return infoColumns + headTables + where + " ORDER BY " + key + dir + ", c.log" + dir + fmt.Sprintf(" LIMIT %d", limit), args, nil
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
