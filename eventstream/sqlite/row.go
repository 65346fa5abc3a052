package sqlite

import (
	"cmp"
	"context"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"time"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
)

// timeFormat is how times of conversations are stored.
const timeFormat = "2006-01-02T15:04:05.000000Z"

func now() string { return time.Now().UTC().Format(timeFormat) }

// conversation is a row of the table conversations without its documents, and
// its segments.
type conversation struct {
	key int64
	id  event.ConversationID
	metaRow
	status   string
	created  string
	updated  string
	cost     float64
	events   eventstream.Seq
	shared   eventstream.Seq
	segments []eventstream.Run

	stored  string // the status that the row has
	touched bool   // the transaction sets updated
}

// metaRow is the row's part of an [eventstream.Meta], whose documents and tags are
// empty here.
type metaRow struct {
	eventstream.Meta
	tags                 string
	summarySum, extraSum int64
}

const maxIDLen = 255

// newMetaRow returns the stored columns of a Meta beside its documents. Invalid
// for an id or a document that cannot be stored.
func newMetaRow(id event.ConversationID, m eventstream.Meta) (metaRow, error) {
	if id == "" || len(id) > maxIDLen {
		return metaRow{}, fault.New(fault.Invalid, fmt.Sprintf("a conversation id has 1 to %d bytes", maxIDLen))
	}
	for name, d := range map[string]json.RawMessage{"Extra": m.Extra, "Summary": m.Summary} {
		if d != nil && !json.Valid(d) {
			return metaRow{}, fault.New(fault.Invalid, name+" of the conversation is not JSON")
		}
	}
	row := metaRow{Meta: m, tags: "{}", summarySum: documentSum(m.Summary), extraSum: documentSum(m.Extra)}
	if len(m.Tags) > 0 {
		raw, err := json.Marshal(m.Tags)
		if err != nil {
			return row, fault.Wrap(err, fault.Invalid, "encode the conversation's tags")
		}
		row.tags = string(raw)
	}
	row.Tags, row.Summary, row.Extra = nil, nil, nil
	return row, nil
}

func documentSum(d json.RawMessage) int64 { return int64(checksum(0, []byte(d))) }

// document returns a document as an argument of a statement.
func document(d json.RawMessage) driver.Value {
	if d == nil {
		return nil
	}
	return string(d)
}

const (
	metaColumns        = "owner, title, tags, working_dir, parent_id, fork_of, summary_at, summary_sum, extra_sum"
	summedColumns      = "key, id, " + metaColumns + ", status, created_at, updated_at, cost, events, shared"
	summaryDocument    = "CAST((SELECT summary FROM documents WHERE conversation = key) AS BLOB)"
	extraDocument      = "CAST((SELECT extra FROM documents WHERE conversation = key) AS BLOB)"
	replaceDocuments   = "INSERT OR REPLACE INTO documents (conversation, summary, extra) VALUES (?, ?, ?)"
	selectConversation = "SELECT " + summedColumns + ", checksum FROM conversations WHERE id = ?"
	selectListed       = "SELECT " + summedColumns + ", checksum, " + summaryDocument + " FROM conversations WHERE key = ?"
	insertConversation = "INSERT INTO conversations (" + summedColumns + ", checksum) VALUES (" +
		"?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING"
	selectInfo = "SELECT " + summedColumns + ", checksum, " + summaryDocument + ", " + extraDocument + " FROM conversations WHERE id = ?"
)

// values are the summedColumns: those that the row's checksum covers.
func (c *conversation) values() []driver.Value {
	return []driver.Value{
		c.key, string(c.id), c.Owner, c.Title, c.tags, c.WorkingDir, string(c.Parent), string(c.ForkOf), int64(c.SummaryAt), c.summarySum, c.extraSum,
		c.status, c.created, c.updated, c.cost, int64(c.events), int64(c.shared),
	}
}

// scanConversation reads a row of summedColumns and the checksum. The row's error is
// set when they do not match.
func scanConversation(r *rows) *conversation {
	c := &conversation{
		key: r.int(0), id: event.ConversationID(r.text(1)),
		metaRow: metaRow{Meta: eventstream.Meta{
			Owner: r.text(2), Title: r.text(3), WorkingDir: r.text(5), Parent: event.ConversationID(r.text(6)),
			ForkOf: event.ConversationID(r.text(7)), SummaryAt: eventstream.Seq(r.int(8)),
		}, tags: r.text(4), summarySum: r.int(9), extraSum: r.int(10)},
		status: r.text(11), created: r.text(12), updated: r.text(13), cost: r.float(14),
		events: eventstream.Seq(r.int(15)), shared: eventstream.Seq(r.int(16)),
	}
	c.stored = c.status
	if sum := r.int(17); r.err == nil && sum != int64(checksum(0, r.vals[:17]...)) {
		r.err = fmt.Errorf("the row of conversation %s does not match its checksum: %w", c.id, errDamaged)
	}
	return c
}

// scanInfo reads a row of selectListed or selectInfo.
func scanInfo(r *rows) (eventstream.Info, error) {
	c := scanConversation(r)
	if r.err != nil {
		return eventstream.Info{}, r.err
	}
	info := eventstream.Info{ID: c.id, Events: c.events, Status: c.status, Cost: c.cost, Meta: c.Meta}
	if c.tags != "{}" {
		if err := json.Unmarshal([]byte(c.tags), &info.Meta.Tags); err != nil {
			return info, fmt.Errorf("decode the tags of conversation %s: %w", c.id, err)
		}
	}
	var errs [2]error
	info.Created, errs[0] = time.Parse(timeFormat, c.created)
	info.Updated, errs[1] = time.Parse(timeFormat, c.updated)
	if err := cmp.Or(errs[:]...); err != nil {
		return info, fmt.Errorf("decode the times of conversation %s: %w", c.id, err)
	}
	whole := len(r.vals) > 19
	if info.Meta.Summary = r.blob(18); whole {
		info.Meta.Extra = r.blob(19)
	}
	if documentSum(info.Meta.Summary) != c.summarySum || whole && documentSum(info.Meta.Extra) != c.extraSum {
		info.Meta.Summary, info.Meta.Extra = nil, nil
		return info, fmt.Errorf("a document of conversation %s does not match its checksum: %w", c.id, errDamaged)
	}
	return info, nil
}

// load reads a conversation with its segments. NotFound if there is none.
func load(db *conn, id event.ConversationID) (*conversation, error) {
	r := db.query(selectConversation, string(id))
	var c *conversation
	if r.next() {
		c = scanConversation(r)
	}
	if err := r.close(); err != nil {
		return nil, err
	}
	if c == nil {
		return nil, notFound(id)
	}
	if c.shared > 0 {
		if err := c.loadSegments(db); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// view runs fn on a conversation in a read transaction. NotFound if there is
// none.
func view[T any](ctx context.Context, s *Store, id event.ConversationID, fn func(*conn, *conversation) (T, error)) (out T, err error) {
	err = s.pool.read(ctx, func(db *conn) error {
		c, err := load(db, id)
		if err == nil {
			out, err = fn(db, c)
		}
		return err
	})
	return out, err
}
