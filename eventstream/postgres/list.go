package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
)

// planned has the server plan a query for its arguments: the best plan for a rare owner
// is not that for a frequent one.
const planned = pgx.QueryExecModeCacheDescribe

// Info implements [eventstream.Stream].
func (s *Store) Info(ctx context.Context, id event.ConversationID) (eventstream.Info, error) {
	var info eventstream.Info
	rows, err := s.pool.Query(ctx, "SELECT "+infoColumns+", d.extra"+fromConversations+" WHERE c.id = $1", encodeText(string(id)))
	if err == nil {
		info, err = pgx.CollectExactlyOneRow(rows, func(row pgx.CollectableRow) (eventstream.Info, error) {
			var extra []byte
			_, i, err := scanInfo(row, &extra)
			if err == nil {
				i.Meta.Extra, err = decodeBytes(extra)
			}
			return i, err
		})
	}
	if errors.Is(err, pgx.ErrNoRows) {
		err = notFound(id)
	}
	return info, s.failed(ctx, err)
}

// Last implements [eventstream.Stream].
func (s *Store) Last(ctx context.Context, id event.ConversationID) (last eventstream.Seq, err error) {
	err = s.pool.QueryRow(ctx, "SELECT events FROM conversations WHERE id = $1", encodeText(string(id))).Scan(&last)
	if errors.Is(err, pgx.ErrNoRows) {
		err = notFound(id)
	}
	return last, s.failed(ctx, err)
}

// List implements [eventstream.Stream]. It orders by the times that Info shows;
// conversations of the same time are in the order of creation.
func (s *Store) List(ctx context.Context, q eventstream.ListQuery) (eventstream.ListPage, error) {
	page, err := s.list(ctx, q)
	if err != nil {
		return eventstream.ListPage{}, fmt.Errorf("list conversations: %w", s.failed(ctx, err))
	}
	return page, nil
}

func (s *Store) list(ctx context.Context, q eventstream.ListQuery) (page eventstream.ListPage, err error) {
	l := newListing(q, s.titles.Load())
	if q.PageID != "" {
		start, ok, err := s.pageStart(ctx, q.PageID, l.column)
		if err != nil {
			return page, err
		}
		if ok {
			l.from(start)
		}
	}
	limit := cmp.Or(max(q.Limit, 0), defaultLimit)
	sql, args := l.query(limit + 1)
	rows, err := s.pool.Query(ctx, sql, append([]any{planned}, args...)...)
	if err != nil {
		return page, err
	}
	defer rows.Close()
	for n := 0; rows.Next(); n++ {
		key, info, err := scanInfo(rows)
		if n == limit {
			at := info.Created
			if q.ByUpdated {
				at = info.Updated
			}
			page.NextID = position{at, key}.String()
			break
		}
		switch {
		case err == nil:
			page.Infos = append(page.Infos, info)
		case q.Damaged != nil && fault.Is(err, fault.Corrupt):
			q.Damaged(info.ID, err)
		default:
			return page, err
		}
	}
	rows.Close()
	if err := rows.Err(); err != nil || page.NextID != "" || !l.window {
		return page, err
	}
	page.NextID, err = s.afterWindow(ctx, l)
	return page, err
}

// afterWindow returns where a search goes on that has looked at as many as a page does; "" if
// there are no more.
func (s *Store) afterWindow(ctx context.Context, l *listing) (string, error) {
	var p position
	err := s.pool.QueryRow(ctx, l.afterWindow(), append([]any{planned}, l.start.args...)...).Scan(&p.at, &p.key)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	return p.String(), err
}

// listing is the query of one page.
type listing struct {
	column, direction, follows string
	// minute has pages go by updated_at, of which indexes have the minute.
	minute bool
	// start are the conditions on the owner and on where the page begins, which indexes have.
	start conditions
	rest  eventstream.ListQuery
	// window has the query look at the next conversations only, as many as
	// [eventstream.Looked]: no index has the title, and few may have it.
	window, titles bool
}

func newListing(q eventstream.ListQuery, titles bool) *listing {
	l := &listing{column: "c.created_at", direction: " DESC", follows: " <= ", minute: q.ByUpdated, rest: q, titles: titles}
	if l.minute {
		l.column = "c.updated_at"
	}
	if q.Ascending {
		l.direction, l.follows = "", " >= "
	}
	if q.Owner != "" {
		l.start.and("c.owner = $", encodeText(q.Owner))
	}
	l.rest.Owner = ""
	l.window = q.Title != "" && q.Only == nil && (!titles || utf8.RuneCountInString(q.Title) < trigram)
	return l
}

// trigram is how many characters a text must have to be found by the index of titles.
const trigram = 3

// from has the listing begin at a position.
func (l *listing) from(start position) {
	if l.minute {
		l.start.and("(c.updated_minute, c.updated_at, c.key)"+l.follows+"("+minuteOf+", $, $)", start.at, start.at, start.key)
		return
	}
	l.start.and("("+l.column+", c.key)"+l.follows+"($, $)", start.at, start.key)
}

func (l *listing) ordered() string {
	by := " ORDER BY "
	if l.minute {
		by += "c.updated_minute" + l.direction + ", "
	}
	return by + l.column + l.direction + ", c.key" + l.direction
}

// minuteOf is the updated_minute of a time.
const minuteOf = "date_trunc('minute', $::timestamptz AT TIME ZONE 'UTC')"

// query returns what finds at most limit conversations.
func (l *listing) query(limit int) (sql string, args []any) {
	from, w := fromConversations, conditions{titles: l.titles, args: slices.Clone(l.start.args)}
	if l.window {
		from = strings.Replace(from, "conversations c", l.looked(), 1)
	} else {
		w.all = slices.Clone(l.start.all)
	}
	w.query(l.rest)
	args = append(w.args, limit)
	return fmt.Sprintf("SELECT %s%s%s%s LIMIT $%d", infoColumns, from, w.String(), l.ordered(), len(args)), args
}

// looked selects the conversations that a window has.
func (l *listing) looked() string {
	return "(SELECT * FROM conversations c" + l.start.String() + l.ordered() + " LIMIT " + strconv.Itoa(eventstream.Looked) + ") c"
}

// afterWindow returns what finds the first position that was not looked at; its arguments are
// those of the start.
func (l *listing) afterWindow() string {
	return "SELECT " + l.column + ", c.key FROM conversations c" + l.start.String() + l.ordered() + " LIMIT 1 OFFSET " + strconv.Itoa(eventstream.Looked)
}

// position is where a conversation is in a listing. A page can start there even if the
// conversation has been deleted or updated meanwhile.
type position struct {
	at  time.Time
	key int64
}

const timeFormat = "2006-01-02T15:04:05.000000Z"

func (p position) String() string {
	return p.at.UTC().Format(timeFormat) + "_" + strconv.FormatInt(p.key, 10)
}

func parsePosition(s string) (p position, ok bool) {
	text, number, ok := strings.Cut(s, "_")
	at, bad := time.Parse(timeFormat, text)
	key, err := strconv.ParseInt(number, 10, 64)
	return position{at, key}, ok && bad == nil && err == nil
}

// pageStart returns where a page starts; false if its id is unknown.
func (s *Store) pageStart(ctx context.Context, id, column string) (p position, ok bool, err error) {
	if p, ok = parsePosition(id); ok {
		return p, true, nil
	}
	err = s.pool.QueryRow(ctx, "SELECT "+column+", c.key FROM conversations c WHERE c.id = $1", encodeText(id)).Scan(&p.at, &p.key)
	if errors.Is(err, pgx.ErrNoRows) {
		return p, false, nil
	}
	return p, err == nil, err
}

// CountConversations implements [eventstream.Stream].
func (s *Store) CountConversations(ctx context.Context, q eventstream.ListQuery) (n int, err error) {
	l := newListing(eventstream.ListQuery{Owner: q.Owner, Title: q.Title, Only: q.Only}, s.titles.Load())
	w := conditions{titles: l.titles}
	sql := "SELECT count(*) FROM conversations c"
	if q.Title == "" && q.Only == nil && q.CreatedFrom.IsZero() && q.CreatedBefore.IsZero() && q.UpdatedFrom.IsZero() && q.UpdatedBefore.IsZero() {
		sql = "SELECT coalesce(sum(c.conversations), 0)::bigint FROM conversation_counts c"
		w.counted(q)
		if q.WithoutParent {
			w.and("NOT c.child")
		}
	} else {
		if l.window {
			sql, w.args = "SELECT count(*) FROM "+l.looked(), slices.Clone(l.start.args)
		}
		w.query(q)
	}
	err = s.pool.QueryRow(ctx, sql+w.String(), append([]any{planned}, w.args...)...).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("count conversations: %w", s.failed(ctx, err))
	}
	return n, nil
}

// WorkingDirs implements [eventstream.Stream].
func (s *Store) WorkingDirs(ctx context.Context, n int) (dirs []string, err error) {
	rows, err := s.pool.Query(ctx, "SELECT working_dir FROM conversations ORDER BY created_at DESC, key DESC LIMIT $1", n)
	if err == nil {
		var dir string
		seen := map[string]bool{"": true} // of conversations that work nowhere
		_, err = pgx.ForEachRow(rows, []any{&dir}, func() error {
			plain, err := decodeText(dir)
			if err == nil && !seen[plain] {
				seen[plain] = true
				dirs = append(dirs, plain)
			}
			return err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("list working directories: %w", s.failed(ctx, err))
	}
	return dirs, nil
}

// likeEscaper makes a text one that LIKE takes literally.
var likeEscaper = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

// conditions are the parts of a WHERE clause that AND joins, and their arguments.
type conditions struct {
	titles bool // there is an index of titles
	all    []string
	args   []any
}

// and adds a condition in which $ stands for the next argument.
func (w *conditions) and(condition string, args ...any) {
	for _, arg := range args {
		w.args = append(w.args, arg)
		condition = strings.Replace(condition, "$", "\x00"+strconv.Itoa(len(w.args)), 1)
	}
	w.all = append(w.all, strings.ReplaceAll(condition, "\x00", "$"))
}

func (w *conditions) String() string {
	if len(w.all) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(w.all, " AND ")
}

// counted adds the conditions that the table conversation_counts has columns for.
func (w *conditions) counted(q eventstream.ListQuery) {
	if q.Owner != "" {
		w.and("c.owner = $", encodeText(q.Owner))
	}
	switch q.Status {
	case "":
	case "idle":
		w.and("c.status IN ('idle', '')")
	default:
		w.and("c.status = $", encodeText(q.Status))
	}
}

// query adds the conditions of a query.
func (w *conditions) query(q eventstream.ListQuery) {
	w.counted(q)
	switch {
	case q.Title == "":
	case !storable(q.Title):
		w.and("false") // no title has it as it is
	case w.titles: // the index serves LIKE
		w.and(`c.title_lower LIKE lower($ COLLATE "C")`, "%"+likeEscaper.Replace(q.Title)+"%")
	default:
		w.and(`strpos(c.title_lower, lower($ COLLATE "C")) > 0`, q.Title)
	}
	for _, bound := range []struct {
		condition string
		at        time.Time
	}{
		{"c.created_at >= $", q.CreatedFrom},
		{"c.created_at < $", q.CreatedBefore},
		{"c.updated_minute >= " + minuteOf, q.UpdatedFrom}, // for the indexes
		{"c.updated_at >= $", q.UpdatedFrom},
		{"c.updated_minute <= " + minuteOf, q.UpdatedBefore},
		{"c.updated_at < $", q.UpdatedBefore},
	} {
		if !bound.at.IsZero() {
			w.and(bound.condition, bound.at)
		}
	}
	if q.WithoutParent {
		w.and("c.parent_id = ''")
	}
	if q.Only != nil {
		ids := make([]string, len(q.Only))
		for i, id := range q.Only {
			ids[i] = encodeText(string(id))
		}
		w.and("c.id = ANY($)", ids)
	}
}
