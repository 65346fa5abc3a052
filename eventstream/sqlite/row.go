package sqlite

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"
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
	key      int64
	id       event.ConversationID
	meta     columns
	created  string
	updated  string
	status   string
	cost     float64
	events   eventstream.Seq
	shared   eventstream.Seq
	segments []segment

	stored  string // the status that the row has
	touched bool   // the transaction changes what updated is about
}

// columns are the columns of an [eventstream.Meta] without its documents.
type columns struct {
	owner, title, tags, workingDir, parent, forkOf string
	summaryAt, summarySum, extraSum                int64
}

const maxIDLen = 255

// document is the JSON of a Summary or Extra, which may be nil.
type document json.RawMessage

func (d document) sum() int64 { return int64(crc32.Checksum(d, castagnoli)) }

// arg returns the document as an argument of a statement.
func (d document) arg() any {
	if d == nil {
		return nil
	}
	return string(d)
}

// metaColumns returns what is stored of a Meta beside its documents. Invalid
// for an id or a document that cannot be stored.
func metaColumns(id event.ConversationID, m eventstream.Meta) (c columns, err error) {
	if id == "" || len(id) > maxIDLen {
		return c, fault.New(fault.Invalid, fmt.Sprintf("a conversation id has 1 to %d bytes", maxIDLen))
	}
	for name, d := range map[string]json.RawMessage{"Extra": m.Extra, "Summary": m.Summary} {
		if d != nil && !json.Valid(d) {
			return c, fault.New(fault.Invalid, name+" of the conversation is not JSON")
		}
	}
	tags := "{}"
	if len(m.Tags) > 0 {
		raw, err := json.Marshal(m.Tags)
		if err != nil {
			return c, fault.Wrap(err, fault.Invalid, "encode the conversation's tags")
		}
		tags = string(raw)
	}
	return columns{
		m.Owner, m.Title, tags, m.WorkingDir, string(m.Parent), string(m.ForkOf),
		int64(m.SummaryAt), document(m.Summary).sum(), document(m.Extra).sum(),
	}, nil
}

func (c *conversation) checksum() int64 {
	m := &c.meta
	return rowSum(c.key, string(c.id), m.owner, m.title, c.status, m.tags, c.created, c.updated, c.cost,
		m.workingDir, m.parent, m.forkOf, int64(c.events), int64(c.shared), m.summaryAt, m.summarySum, m.extraSum)
}

const (
	conversationColumns = "c.key, c.id, c.owner, c.title, c.status, c.tags, c.created_at, c.updated_at, c.cost, " +
		"c.working_dir, c.parent_id, c.fork_of, c.events, c.shared, c.checksum, c.summary_at, c.summary_sum, c.extra_sum"
	listColumns        = conversationColumns + ", CAST(c.summary AS BLOB)"
	selectConversation = "SELECT " + conversationColumns + " FROM conversations c WHERE c.id = ?"
	selectListed       = "SELECT " + listColumns + " FROM conversations c WHERE c.key = ?"
	selectInfo         = "SELECT " + listColumns + ", CAST(c.extra AS BLOB) FROM conversations c WHERE c.id = ?"
)

// scanConversation reads a row of conversationColumns. The row's error is set
// when it does not match its checksum.
func scanConversation(r *rows) *conversation {
	c := &conversation{
		key: r.int(0), id: event.ConversationID(r.text(1)), status: r.text(4), created: r.text(6), updated: r.text(7), cost: r.float(8),
		meta:   columns{r.text(2), r.text(3), r.text(5), r.text(9), r.text(10), r.text(11), r.int(15), r.int(16), r.int(17)},
		events: eventstream.Seq(r.int(12)), shared: eventstream.Seq(r.int(13)),
	}
	c.stored = c.status
	if r.err == nil && r.int(14) != c.checksum() {
		r.err = fmt.Errorf("the row of conversation %s does not match its checksum: %w", c.id, errDamaged)
	}
	return c
}

// scanInfo reads a row of listColumns, and Extra if the row has it.
func scanInfo(r *rows) (eventstream.Info, error) {
	c := scanConversation(r)
	summary, extra := document(r.blob(18)), document(nil)
	if len(r.vals) > 19 {
		extra = r.blob(19)
	}
	if r.err != nil {
		return eventstream.Info{}, r.err
	}
	m := c.meta
	info := eventstream.Info{
		ID: c.id, Events: c.events, Status: c.status, Cost: c.cost,
		Meta: eventstream.Meta{
			Owner: m.owner, Title: m.title, WorkingDir: m.workingDir,
			Parent: event.ConversationID(m.parent), ForkOf: event.ConversationID(m.forkOf),
		},
	}
	if m.tags != "{}" {
		if err := json.Unmarshal([]byte(m.tags), &info.Meta.Tags); err != nil {
			return info, fmt.Errorf("decode the tags of conversation %s: %w", c.id, err)
		}
	}
	var errs [2]error
	info.Created, errs[0] = time.Parse(timeFormat, c.created)
	info.Updated, errs[1] = time.Parse(timeFormat, c.updated)
	if err := cmp.Or(errs[:]...); err != nil {
		return info, fmt.Errorf("decode the times of conversation %s: %w", c.id, err)
	}
	if summary.sum() != m.summarySum || len(r.vals) > 19 && extra.sum() != m.extraSum {
		return info, fmt.Errorf("a document of conversation %s does not match its checksum: %w", c.id, errDamaged)
	}
	info.Meta.Summary, info.Meta.SummaryAt, info.Meta.Extra = json.RawMessage(summary), eventstream.Seq(m.summaryAt), json.RawMessage(extra)
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
