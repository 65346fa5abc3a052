package sqlite

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
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

// Last implements [eventstream.Stream].
func (s *Store) Last(ctx context.Context, id event.ConversationID) (eventstream.Seq, error) {
	var last eventstream.Seq
	err := s.pool.read(ctx, func(db *conn) error {
		r := db.query(selectHead, string(id))
		found := r.next()
		if found {
			if h, _ := scanHead(r); h != nil {
				last = h.events
			}
		}
		switch err := r.close(); {
		case err != nil:
			return err
		case !found:
			return notFound(id)
		}
		return nil
	})
	return last, err
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
		Events:  h.events, Status: h.status, Cost: h.cost,
	}
	var err error
	if info.Meta, err = (packedMeta{r.blob(14), r.blob(15)}).unpack(h.log, r.int(13)); err != nil {
		return eventstream.Info{}, fmt.Errorf("decode meta data of conversation %s: %w", info.ID, err)
	}
	return info, nil
}

// List implements [eventstream.Stream]. There is no index on Updated, because
// it would cost every append: the first page sorts all conversations, and the
// second keeps the order for those that follow until something is written.
func (s *Store) List(ctx context.Context, q eventstream.ListQuery) (eventstream.ListPage, error) {
	var page eventstream.ListPage
	limit := q.Limit
	if limit <= 0 {
		limit = defaultLimit
	}
	visit := func(r *rows) (more bool, err error) {
		info, err := scanInfo(r)
		if err != nil {
			return false, err
		}
		if len(page.Infos) == limit {
			page.NextID = string(info.ID)
			return false, nil
		}
		page.Infos = append(page.Infos, info)
		return true, nil
	}
	err := s.pool.read(ctx, func(db *conn) error {
		if q.ByUpdated && q.Status == "" && q.Owner == "" && q.PageID != "" {
			return listUpdated(db, q, visit)
		}
		sql, args, err := listQuery(db, q, limit+1)
		if err != nil {
			return err
		}
		return each(db.queryOnce(sql, args...), visit)
	})
	if err != nil {
		return eventstream.ListPage{}, fmt.Errorf("list conversations: %w", err)
	}
	return page, nil
}

// each visits rows until visit says no, and closes them.
func each(r *rows, visit func(*rows) (bool, error)) error {
	for r.next() {
		more, err := visit(r)
		if err != nil {
			return firstError(r.close(), err)
		}
		if !more {
			break
		}
	}
	return r.close()
}

// updatedOrder is the conversations in the order of their updates, as of a
// PRAGMA data_version of the connection that keeps it.
type updatedOrder struct {
	version int64
	keys    []updatedKey
}

type updatedKey struct{ updated, log int64 }

func (k updatedKey) compare(o updatedKey) int {
	return cmp.Or(cmp.Compare(k.updated, o.updated), cmp.Compare(k.log, o.log))
}

func (o *updatedOrder) load(db *conn) error {
	v, _, err := db.number("PRAGMA data_version")
	if err != nil || (v == o.version && o.keys != nil) {
		return err
	}
	o.keys = o.keys[:0]
	r := db.query("SELECT updated, log FROM heads")
	for r.next() {
		o.keys = append(o.keys, updatedKey{r.int(0), r.int(1)})
	}
	if err := r.close(); err != nil {
		o.keys = nil
		return err
	}
	slices.SortFunc(o.keys, updatedKey.compare)
	o.version = v
	return nil
}

// listUpdated lists by Updated from PageID on.
func listUpdated(db *conn, q eventstream.ListQuery, visit func(*rows) (bool, error)) error {
	if err := db.order.load(db); err != nil {
		return err
	}
	keys := db.order.keys
	at, step := 0, 1
	if !q.Ascending {
		at, step = len(keys)-1, -1
	}
	r := db.query("SELECT h.updated, h.log"+headTables+" WHERE c.id = ?", q.PageID)
	if r.next() {
		at, _ = slices.BinarySearchFunc(keys, updatedKey{r.int(0), r.int(1)}, updatedKey.compare)
	}
	if err := r.close(); err != nil {
		return err
	}
	for more := true; more && 0 <= at && at < len(keys); at += step {
		err := each(db.query(infoColumns+headTables+" WHERE c.log = ?", keys[at].log), func(r *rows) (_ bool, err error) {
			more, err = visit(r)
			return false, err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// neverTold is the status of a conversation that no update has told one of.
const neverTold = "idle"

func listQuery(db *conn, q eventstream.ListQuery, limit int) (sql string, args []any, err error) {
	key, dir, from := "c.created", " DESC", "<="
	tables := headTables
	if q.ByUpdated {
		key = "h.updated"
	}
	if q.Ascending {
		dir, from = "", ">="
	}
	where := " WHERE 1"
	if q.Status != "" {
		where += " AND h.status IN (?, ?)"
		args = append(args, q.Status, q.Status)
		if q.Status == neverTold {
			args[1] = ""
		}
	}
	if q.Owner != "" {
		where += " AND (SELECT cast(o.meta AS TEXT) ->> 'owner' FROM conversations o WHERE o.log = c.log) = ?"
		args = append(args, q.Owner)
	}
	if q.PageID != "" {
		r := db.queryOnce("SELECT "+key+", c.log"+headTables+" WHERE c.id = ?", q.PageID)
		if r.next() {
			where += " AND (" + key + ", c.log) " + from + " (?, ?)"
			args = append(args, r.int(0), r.int(1))
		}
		if err := r.close(); err != nil {
			return "", nil, err
		}
	}
	order := " ORDER BY " + key + dir + ", c.log" + dir
	page := where + order + fmt.Sprintf(" LIMIT %d", limit)
	if q.ByUpdated {
		// Only what is ordered by goes through the sort, not the meta data.
		// A cross join keeps the order of its left side.
		tables = " FROM (SELECT h.log FROM heads h" + strings.ReplaceAll(page, "c.log", "h.log") + ") k" +
			" CROSS JOIN conversations c ON c.log = k.log CROSS JOIN heads h ON h.log = k.log"
		page = ""
	}
	return infoColumns + tables + page, args, nil
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
