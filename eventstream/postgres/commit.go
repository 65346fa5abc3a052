package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
)

// How long and how often appends are tried again while the server cannot be reached, and
// how long one attempt may take.
const (
	retryTime     = 15 * time.Second
	retryPause    = 100 * time.Millisecond
	retryPauseMax = time.Second
	commitTimeout = 30 * time.Second
)

var errInterrupted = fault.New(fault.Interrupted, "the connection to the PostgreSQL server was lost while events were stored: they may be stored or not").
	Hint(serverHint)

// errTakenOver refuses appends of a process after another one has taken over.
var errTakenOver = fault.New(fault.Conflict, "another process works on the conversation now")

// commit stores the events of requests in one transaction. When that fails as a whole
// it tries each alone, so that one that cannot be stored does not take the others with
// it. When the server is lost it tries again.
func (s *Store) commit(requests []*request) {
	t := transaction{s: s, requests: requests}
	start, pause := time.Now(), retryPause
	for {
		err := t.run()
		switch kind := fault.KindOf(storage(err)); {
		case err == nil:
			return
		case rolledBack(err):
		case uniqueViolation(err) && !t.look:
			t.look = true
		case kind == fault.Unavailable && time.Since(start) < retryTime && s.ctx.Err() == nil:
			timer := time.NewTimer(pause)
			select {
			case <-timer.C:
			case <-s.ctx.Done():
				timer.Stop()
			}
			pause = min(2*pause, retryPauseMax)
		case len(requests) > 1 && !t.unknown:
			for i := range requests {
				s.commit(requests[i : i+1])
			}
			return
		default:
			err = storage(err)
			if t.unknown {
				err = errInterrupted.Because(err)
			}
			for _, r := range requests {
				r.err = cmp.Or(r.err, err)
			}
			return
		}
	}
}

// transaction stores the events of some requests.
type transaction struct {
	s        *Store
	requests []*request
	unknown  bool // an attempt may have been committed
	look     bool // an id is taken: find out which

	rows    map[string]*row // by the stored id of the conversation
	taken   map[eventKey]eventstream.Seq
	holders map[string]int32
	wake    []wakeUp
	events  eventArrays
}

// row is a transaction's view of a locked conversation.
type row struct {
	key                  int64
	owner, status, saved string
	child                bool
	cost                 float64
	events, shared       eventstream.Seq
	changed              bool
	fresh                []eventstream.Record
}

type eventKey struct{ conversation, event string }

// eventArrays are the columns of the events to insert.
type eventArrays struct {
	conversations, seqs                              []int64
	ids, parents, kinds, sources, timestamps, bodies []string
}

const (
	lockRows = "SELECT id, key, owner, status, parent_id <> '', cost, events, shared FROM conversations WHERE id = ANY($1) ORDER BY key FOR UPDATE"
	// takenIDs and lockHolders must see the commits before all rows were locked, so they
	// are statements of their own.
	takenIDs = `SELECT p.conversation, p.event, e.seq
FROM unnest($1::text[], $2::text[]) p (conversation, event) JOIN conversations c ON c.id = p.conversation
JOIN events e ON e.conversation = c.key AND e.id = p.event
UNION ALL
SELECT p.conversation, p.event, g.first + e.seq - g.source_first
FROM unnest($1::text[], $2::text[]) p (conversation, event) JOIN conversations c ON c.id = p.conversation AND c.shared > 0
JOIN segments g ON g.conversation = c.key
JOIN events e ON e.conversation = g.source AND e.id = p.event AND e.seq >= g.source_first AND e.seq < g.source_first + g.events`
	lockHolders  = "SELECT conversation, process FROM locks WHERE conversation = ANY($1)"
	insertEvents = `INSERT INTO events (conversation, seq, id, parent_id, kind, source, timestamp, body)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[])`
	updateRows = `UPDATE conversations c SET events = n.events, status = n.status, cost = n.cost, updated_at = greatest(c.updated_at, clock_timestamp())
FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::float8[]) n (key, events, status, cost) WHERE c.key = n.key`
)

// run makes one attempt.
func (t *transaction) run() error {
	ctx, cancel := context.WithTimeout(t.s.ctx, commitTimeout)
	defer cancel()
	err := t.s.pool.AcquireFunc(ctx, func(c *pgxpool.Conn) error {
		err := t.begin(ctx, c.Conn())
		if err == nil {
			err = t.findTaken(ctx, c.Conn())
		}
		if err != nil {
			return errors.Join(err, rollback(ctx, c.Conn()))
		}
		t.apply()
		if len(t.events.ids) == 0 {
			return rollback(ctx, c.Conn())
		}
		if err := t.end(ctx, c.Conn()); err != nil {
			if c.Conn().IsClosed() {
				t.unknown = true
			}
			return errors.Join(err, rollback(ctx, c.Conn()))
		}
		t.publish()
		return nil
	})
	if err != nil && ctx.Err() != nil && t.s.ctx.Err() == nil { // commitTimeout
		return fault.New(fault.Unavailable, "the PostgreSQL server does not answer").Hint(serverHint).Because(err)
	}
	return err
}

// rollback ends a transaction on a connection that is still usable.
func rollback(ctx context.Context, c *pgx.Conn) error {
	if c.IsClosed() {
		return nil
	}
	_, err := c.Exec(ctx, "ROLLBACK")
	return err
}

// begin locks the conversations and reads their rows, in one round trip.
func (t *transaction) begin(ctx context.Context, c *pgx.Conn) error {
	t.rows, t.taken, t.holders = map[string]*row{}, map[eventKey]eventstream.Seq{}, map[string]int32{}
	t.wake, t.events = nil, eventArrays{}
	var ids []string
	locked := false
	for _, r := range t.requests {
		ids = append(ids, encodeText(string(r.id)))
		locked = locked || r.process != 0
	}
	var b pgx.Batch
	b.Queue("BEGIN")
	b.Queue(lockRows, ids).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var id string
			n := &row{}
			if err := rows.Scan(&id, &n.key, &n.owner, &n.saved, &n.child, &n.cost, &n.events, &n.shared); err != nil {
				return err
			}
			n.status = n.saved
			t.rows[id] = n
		}
		return rows.Err()
	})
	if locked {
		b.Queue(lockHolders, ids).Query(func(rows pgx.Rows) error {
			for rows.Next() {
				var id string
				var process int32
				if err := rows.Scan(&id, &process); err != nil {
					return err
				}
				t.holders[id] = process
			}
			return rows.Err()
		})
	}
	return c.SendBatch(ctx, &b).Close()
}

// findTaken reads which ids of new events conversations have already. Usually that is left to
// the index of ids, which refuses such an event; it does not know the events that a fork shares.
func (t *transaction) findTaken(ctx context.Context, c *pgx.Conn) error {
	var conversations, events []string
	for _, r := range t.requests {
		id := encodeText(string(r.id))
		if row := t.rows[id]; row == nil || row.shared == 0 && !t.unknown && !t.look {
			continue
		}
		for i := range r.recs {
			conversations, events = append(conversations, id), append(events, encodeText(string(r.recs[i].ID)))
		}
	}
	if len(events) == 0 {
		return nil
	}
	rows, err := c.Query(ctx, takenIDs, planned, conversations, events)
	if err != nil {
		return err
	}
	var k eventKey
	var seq eventstream.Seq
	_, err = pgx.ForEachRow(rows, []any{&k.conversation, &k.event, &seq}, func() error {
		t.taken[k] = seq
		return nil
	})
	return err
}

// apply decides about each request, and collects the rows to store for the accepted
// ones.
func (t *transaction) apply() {
	for _, r := range t.requests {
		r.err = nil
		id := encodeText(string(r.id))
		c := t.rows[id]
		switch {
		case c == nil:
			r.err = notFound(r.id)
		case r.process != 0 && t.holders[id] != r.process:
			r.err = errTakenOver
		case t.unknown && t.stored(id, r):
		default:
			t.add(id, c, r)
		}
	}
}

// stored reports whether an attempt whose result is unknown has stored the events of a
// request.
func (t *transaction) stored(id string, r *request) bool {
	for i := range r.recs {
		seq, ok := t.taken[eventKey{id, encodeText(string(r.recs[i].ID))}]
		if !ok || i > 0 && seq != r.last+1 {
			return false
		}
		r.last = seq
	}
	return len(r.recs) > 0
}

func (t *transaction) add(id string, c *row, r *request) {
	mine := map[string]bool{}
	for i := range r.recs {
		ev := encodeText(string(r.recs[i].ID))
		if _, taken := t.taken[eventKey{id, ev}]; taken || mine[ev] {
			r.err = fault.New(fault.Conflict, fmt.Sprintf("the conversation already has an event %s", r.recs[i].ID))
			return
		}
		mine[ev] = true
	}
	a := &t.events
	for i := range r.recs {
		rec := &r.recs[i]
		c.events++
		rec.Seq = c.events
		ev := encodeText(string(rec.ID))
		t.taken[eventKey{id, ev}] = rec.Seq
		a.conversations, a.seqs, a.ids = append(a.conversations, c.key), append(a.seqs, int64(rec.Seq)), append(a.ids, ev)
		a.parents, a.kinds = append(a.parents, encodeText(string(rec.ParentID))), append(a.kinds, encodeText(rec.Kind))
		a.sources, a.timestamps = append(a.sources, encodeText(string(rec.Source))), append(a.timestamps, encodeText(string(rec.Timestamp)))
		a.bodies = append(a.bodies, encodeText(string(rec.JSON)))
		status, cost := eventstream.Changes(*rec)
		if status != nil {
			c.status = encodeText(*status)
		}
		if cost != nil {
			c.cost = *cost
		}
		c.changed = true
	}
	r.last = c.events
	c.fresh = append(c.fresh, r.recs...)
}

// end stores the collected rows, in one round trip.
func (t *transaction) end(ctx context.Context, c *pgx.Conn) error {
	var n counts
	var keys, events []int64
	var statuses []string
	var costs []float64
	for _, r := range t.rows {
		if !r.changed {
			continue
		}
		keys, events = append(keys, r.key), append(events, int64(r.events))
		statuses, costs = append(statuses, r.status), append(costs, r.cost)
		if r.status != r.saved {
			n.add(r.owner, r.saved, r.child, -1)
			n.add(r.owner, r.status, r.child, 1)
		}
		t.wake = append(t.wake, wakeUp{r.key, r.events})
	}
	a := &t.events
	var b pgx.Batch
	b.Queue(insertEvents, a.conversations, a.seqs, a.ids, a.parents, a.kinds, a.sources, a.timestamps, a.bodies)
	b.Queue(updateRows, keys, events, statuses, costs)
	n.queue(&b)
	t.s.notify(&b, t.wake)
	b.Queue("COMMIT")
	return c.SendBatch(ctx, &b).Close()
}

// publish gives the events to followers of this process.
func (t *transaction) publish() {
	for _, r := range t.rows {
		if r.changed {
			t.s.topics.publish(r.key, r.fresh)
		}
	}
}

// wakeUp says up to which event a conversation goes now; seq 0 that it is deleted.
type wakeUp struct {
	key int64
	seq eventstream.Seq
}

// maxPayload is the longest notification, with some room.
const maxPayload = 7900

// notify adds the statement to a batch that wakes the followers of all processes when
// the transaction is committed.
func (s *Store) notify(b *pgx.Batch, all []wakeUp) {
	var payloads []string
	var p []byte
	for _, w := range all {
		if len(p) > maxPayload-50 {
			payloads, p = append(payloads, string(p)), nil
		}
		if len(p) > 0 {
			p = append(p, ' ')
		}
		p = strconv.AppendInt(p, w.key, 10)
		p = append(p, ':')
		p = strconv.AppendInt(p, int64(w.seq), 10)
	}
	b.Queue("SELECT pg_notify($1, p) FROM unnest($2::text[]) p", s.channel(), append(payloads, string(p)))
}
