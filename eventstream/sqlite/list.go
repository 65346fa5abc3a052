package sqlite

import (
	"cmp"
	"context"
	"database/sql/driver"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
)

// Info implements [eventstream.Stream].
func (s *Store) Info(ctx context.Context, id event.ConversationID) (eventstream.Info, error) {
	var info eventstream.Info
	err := s.pool.read(ctx, func(db *conn) error {
		i, found, err := readInfo(db, selectInfo, string(id))
		if info = i; err == nil && !found {
			err = notFound(id)
		}
		return err
	})
	return info, err
}

func readInfo(db *conn, query string, arg driver.Value) (info eventstream.Info, found bool, err error) {
	r := db.query(query, arg)
	if found = r.next(); found {
		info, err = scanInfo(r)
	}
	return info, found, cmp.Or(r.close(), err)
}

// Last implements [eventstream.Stream].
func (s *Store) Last(ctx context.Context, id event.ConversationID) (eventstream.Seq, error) {
	return view(ctx, s, id, func(_ *conn, c *conversation) (eventstream.Seq, error) { return c.events, nil })
}

// List implements [eventstream.Stream]. It orders by the times that Info shows;
// conversations of the same time are in the order of creation.
func (s *Store) List(ctx context.Context, q eventstream.ListQuery) (eventstream.ListPage, error) {
	var page eventstream.ListPage
	limit := cmp.Or(max(q.Limit, 0), defaultLimit)
	err := s.pool.read(ctx, func(db *conn) error {
		found, next, err := listed(db, q, limit)
		page.NextID = next
		for _, p := range found {
			info, ok, err := readInfo(db, selectListed, p.key)
			if err == nil && !ok {
				err = fmt.Errorf("the row of conversation %d is missing: %w", p.key, errDamaged)
			}
			if err != nil && q.Damaged != nil && fault.Is(storage(err), fault.Corrupt) {
				q.Damaged(info.ID, storage(err))
				continue
			}
			if err != nil {
				return err
			}
			page.Infos = append(page.Infos, info)
		}
		return err
	})
	if err != nil {
		return eventstream.ListPage{}, fmt.Errorf("list conversations: %w", err)
	}
	return page, nil
}

// position is where a conversation is in a listing. A page can start there even
// if the conversation has been deleted or updated meanwhile.
type position struct {
	at  string
	key int64
}

func (p position) String() string { return p.at + "_" + strconv.FormatInt(p.key, 10) }

func parsePosition(s string) (p position, ok bool) {
	at, number, ok := strings.Cut(s, "_")
	key, err := strconv.ParseInt(number, 10, 64)
	return position{at, key}, ok && err == nil && len(at) == len(timeFormat)
}

// CountConversations implements [eventstream.Stream].
func (s *Store) CountConversations(ctx context.Context, q eventstream.ListQuery) (n int, err error) {
	err = s.pool.read(ctx, func(db *conn) error {
		if counted(q) {
			where, args := selected(eventstream.ListQuery{Owner: q.Owner, Status: q.Status}, "status")
			if q.WithoutParent {
				where += " AND NOT child"
			}
			all, _, err := db.number("SELECT coalesce(sum(conversations), 0) FROM conversation_counts"+where, args...)
			n = int(all)
			return err
		}
		where, args := selected(q, "status")
		rare, err := rareTitle(db, q.Title)
		if err != nil {
			return err
		}
		if rare != "" {
			where, args = where+inTitles, append(args, rare)
		}
		if newListing(eventstream.ListQuery{Title: q.Title, Only: q.Only}, rare).window {
			owned, owner := selected(eventstream.ListQuery{Owner: q.Owner}, "status")
			where += " AND key >= coalesce((SELECT key FROM conversations" + owned + " ORDER BY key DESC LIMIT 1 OFFSET ?), 0)"
			args = append(append(args, owner...), int64(eventstream.Looked-1))
		}
		all, _, err := db.number("SELECT count(*) FROM conversations"+where, args...)
		n = int(all)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("count conversations: %w", err)
	}
	return n, nil
}

// counted reports whether conversation_counts can answer a query.
func counted(q eventstream.ListQuery) bool {
	return q.Title == "" && q.Only == nil && q.CreatedFrom.IsZero() && q.CreatedBefore.IsZero() && q.UpdatedFrom.IsZero() && q.UpdatedBefore.IsZero()
}

// WorkingDirs implements [eventstream.Stream].
func (s *Store) WorkingDirs(ctx context.Context, n int) (dirs []string, err error) {
	err = s.pool.read(ctx, func(db *conn) error {
		dirs = nil
		seen := map[string]bool{"": true} // of conversations that work nowhere
		r := db.query("SELECT working_dir FROM conversations ORDER BY created_at DESC, key DESC LIMIT ?", int64(n))
		for r.next() {
			if dir := r.text(0); !seen[dir] {
				seen[dir] = true
				dirs = append(dirs, dir)
			}
		}
		return r.close()
	})
	if err != nil {
		return nil, fmt.Errorf("list working directories: %w", err)
	}
	return dirs, nil
}

// likeEscaper makes a text one that LIKE takes literally.
var likeEscaper = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

// selected returns the condition of a query on conversations. idle is the column
// that idle ones are found by.
func selected(q eventstream.ListQuery, idle string) (where string, args []driver.Value) {
	where = " WHERE 1"
	and := func(condition string, arg driver.Value) {
		where += " AND " + condition
		args = append(args, arg)
	}
	if q.Owner != "" {
		and("owner = ?", q.Owner)
	}
	if q.Title != "" {
		and(`title LIKE ? ESCAPE '\'`, "%"+likeEscaper.Replace(q.Title)+"%")
	}
	for _, bound := range []struct {
		condition string
		at        time.Time
	}{
		{"created_at >= ?", q.CreatedFrom},
		{"created_at < ?", q.CreatedBefore},
		{"updated_at >= ?", q.UpdatedFrom},
		{"updated_at < ?", q.UpdatedBefore},
	} {
		if !bound.at.IsZero() {
			and(bound.condition, bound.at.UTC().Format(timeFormat))
		}
	}
	if q.WithoutParent {
		where += " AND parent_id = ''"
	}
	if q.Only != nil {
		where += " AND id IN (NULL" + strings.Repeat(", ?", len(q.Only)) + ")"
		for _, id := range q.Only {
			args = append(args, string(id))
		}
	}
	switch q.Status {
	case "":
	case "idle":
		where += " AND " + idle + " IN ('idle', '')"
	default:
		and("status = ?", q.Status)
	}
	return where, args
}

// listed returns the positions of one page, and where the next one begins. Rows are read by
// them afterwards, so that they are never sorted as a whole.
func listed(db *conn, q eventstream.ListQuery, limit int) (found []position, next string, err error) {
	rare, err := rareTitle(db, q.Title)
	if err != nil {
		return nil, "", err
	}
	start, begun, err := startOf(db, q)
	if err != nil {
		return nil, "", err
	}
	l := newListing(q, rare)
	if begun {
		l.from(start)
	}
	if found, err = positions(db, l.query(), append(l.args, int64(limit+1))); err != nil {
		return nil, "", err
	}
	if len(found) > limit {
		return found[:limit], found[limit].String(), nil
	}
	if l.window {
		rest, err := positions(db, l.afterWindow(), l.windowArgs)
		if err == nil && len(rest) > 0 {
			next = rest[0].String()
		}
		return found, next, err
	}
	return found, "", nil
}

// startOf returns where the page of a query starts; false for at the beginning.
func startOf(db *conn, q eventstream.ListQuery) (start position, ok bool, err error) {
	if start, ok = parsePosition(q.PageID); ok || q.PageID == "" {
		return start, ok, nil
	}
	column := "created_at"
	if q.ByUpdated {
		column = "updated_at"
	}
	found, err := positions(db, "SELECT "+column+", key FROM conversations WHERE id = ?", []driver.Value{q.PageID})
	if len(found) == 0 {
		return start, false, err
	}
	return found[0], true, err
}

func positions(db *conn, query string, args []driver.Value) (found []position, err error) {
	r := db.query(query, args...)
	for r.next() {
		found = append(found, position{r.text(0), r.int(1)})
	}
	return found, r.close()
}

// listing is the query of one page.
type listing struct {
	column, direction, follows string
	where                      string
	args                       []driver.Value
	few                        bool // the found rows are sorted
	// window has the query look at the next conversations only, as many as
	// [eventstream.Looked]: no index has the title, and few may have it.
	window      bool
	windowWhere string
	windowArgs  []driver.Value
}

func newListing(q eventstream.ListQuery, rare string) *listing {
	l := &listing{column: "created_at", direction: " DESC", follows: " <= "}
	if q.ByUpdated {
		l.column = "updated_at"
	}
	if q.Ascending {
		l.direction, l.follows = "", " >= "
	}
	// Most are idle: with +, they are read in the right order instead of sorted.
	l.where, l.args = selected(q, "+status")
	if l.few = rare != ""; l.few {
		l.where, l.args = l.where+inTitles, append(l.args, rare)
	}
	l.window = q.Title != "" && !indexed(q.Title) && q.Only == nil
	return l
}

// from has the listing begin at a position.
func (l *listing) from(start position) {
	switch {
	case l.window:
		l.windowWhere, l.windowArgs = " WHERE ("+l.column+", key)"+l.follows+"(?, ?)", []driver.Value{start.at, start.key}
		l.args = append(l.windowArgs[:2:2], l.args...)
	default:
		l.where += " AND (" + l.order() + ", key)" + l.follows + "(?, ?)"
		l.args = append(l.args, start.at, start.key)
	}
}

// order is the ORDER BY of the listing; with +, no index is used for it.
func (l *listing) order() string {
	if l.few {
		return "+" + l.column
	}
	return l.column
}

func (l *listing) ordered() string {
	return " ORDER BY " + l.order() + l.direction + ", key" + l.direction
}

// query returns the SQL that finds the positions; its last argument is their
// number.
func (l *listing) query() string {
	from := "conversations"
	if l.window {
		from = "(SELECT * FROM conversations" + l.windowWhere + l.ordered() + " LIMIT " + strconv.Itoa(eventstream.Looked) + ")"
	}
	return "SELECT " + l.column + ", key FROM " + from + l.where + l.ordered() + " LIMIT ?"
}

// afterWindow returns the SQL that finds the first position that was not looked
// at.
func (l *listing) afterWindow() string {
	return "SELECT " + l.column + ", key FROM conversations" + l.windowWhere + l.ordered() + " LIMIT 1 OFFSET " + strconv.Itoa(eventstream.Looked)
}
