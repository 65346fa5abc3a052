package sqlite

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/internal/fault"
)

const defaultLimit = 100

// Search implements [eventstream.Stream]. Kind, source and time are compared
// by the database, in the order of the log and without an index: an index
// would cost every append, and a scan passes over bodies without reading
// them.
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
		sc.limit = limit + 1
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
		if q.Body == "" {
			n, err = sc.count()
			return err
		}
		sc.visit = func(eventstream.Record) bool { n++; return true }
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
		seq, err := locate(db, h, ev)
		if err != nil {
			return err
		}
		if seq == 0 {
			return fault.New(fault.NotFound, fmt.Sprintf("conversation %s has no event %s", id, ev))
		}
		cur := cursor{s: s, id: id, next: seq}
		if _, err := cur.fillFrom(db, h.cut(seq, seq)[0], pageBytes); err != nil {
			return err
		}
		rec = cur.page[0]
		return nil
	})
	return rec, err
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
	start, err := locate(db, h, q.PageID)
	if err != nil || start == 0 {
		return first, last, err
	}
	if q.Order == eventstream.Descending {
		return first, start, nil
	}
	return start, last, nil
}

// scanner walks the events that a query selects.
type scanner struct {
	s     *Store
	ctx   context.Context
	db    *conn
	h     *head
	id    event.ConversationID
	q     eventstream.Query
	body  string // lower case
	where string // behind "log = ? AND seq >= ? AND seq <= ?"
	args  []any
	limit int // rows worth reading when there is no body to look into, 0 for all
	visit func(eventstream.Record) bool
}

func (s *Store) newScan(ctx context.Context, db *conn, h *head, id event.ConversationID, q eventstream.Query) *scanner {
	sc := &scanner{s: s, ctx: ctx, db: db, h: h, id: id, q: q, body: strings.ToLower(q.Body)}
	kinds := q.Kinds
	none := false
	if q.Body != "" {
		none = len(kinds) > 0 && !slices.Contains(kinds, kindMessage)
		kinds = []string{kindMessage}
	}
	if len(kinds) > 0 || q.Source != "" {
		// The table, not the copy, decides: another process may have added
		// labels. A failure to load shows in the query that follows.
		_ = s.labels.load(db)
		nums := s.labels.matching(kinds, q.Source)
		if none {
			nums = nil
		}
		text := make([]string, len(nums))
		for i, n := range nums {
			text[i] = strconv.FormatInt(n, 10)
		}
		sc.where += " AND label IN (" + strings.Join(text, ",") + ")"
	}
	if q.From != "" {
		sc.where += " AND ts >= ?"
		sc.args = append(sc.args, string(q.From))
	}
	if q.Before != "" {
		sc.where += " AND ts < ?"
		sc.args = append(sc.args, string(q.Before))
	}
	return sc
}

func (sc *scanner) count() (int, error) {
	if sc.where == "" {
		return int(sc.h.events), nil
	}
	total := 0
	for _, p := range sc.h.cut(1, sc.h.events) {
		r := sc.db.queryOnce("SELECT count(*) FROM records WHERE log = ? AND seq >= ? AND seq <= ?"+sc.where, sc.bind(p)...)
		if r.next() {
			total += int(r.int(0))
		}
		if err := r.close(); err != nil {
			return 0, err
		}
	}
	return total, nil
}

func (sc *scanner) bind(p piece) []any {
	return append([]any{p.src, int64(p.first), int64(p.last)}, sc.args...)
}

// run visits the selected events of a range, in the query's order.
func (sc *scanner) run(first, last eventstream.Seq) error {
	pieces := sc.h.cut(first, last)
	order := " ORDER BY seq"
	if sc.q.Order == eventstream.Descending {
		slices.Reverse(pieces)
		order += " DESC"
	}
	if sc.body == "" && sc.limit > 0 {
		order += " LIMIT " + strconv.Itoa(sc.limit)
	}
	for _, p := range pieces {
		goOn, err := sc.piece(p, order)
		if err != nil || !goOn {
			return err
		}
	}
	return nil
}

func (sc *scanner) piece(p piece, order string) (goOn bool, err error) {
	goOn = true
	r := sc.db.queryOnce("SELECT seq, label, ts, id, rec FROM records WHERE log = ? AND seq >= ? AND seq <= ?"+sc.where+order, sc.bind(p)...)
	for n := 0; goOn && err == nil && r.next(); n++ {
		if n%256 == 0 && sc.ctx.Err() != nil {
			err = canceled(sc.ctx.Err())
			break
		}
		at := p.at + eventstream.Seq(r.int(0)) - p.first
		rec, why := sc.s.scan(sc.db, r, p.src)
		if why != "" {
			err = damaged(sc.id, at, why)
			break
		}
		rec.Seq = at
		if sc.body == "" || inMessage(rec.JSON, sc.body) {
			goOn = sc.visit(rec)
		}
	}
	if closeErr := r.close(); err == nil && goOn {
		err = closeErr
	}
	return goOn, err
}
