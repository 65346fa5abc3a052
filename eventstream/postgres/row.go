package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
)

// querier is a pool or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

// conversation has the columns that locating and appending events needs.
type conversation struct {
	key      int64
	id       event.ConversationID
	events   eventstream.Seq
	shared   eventstream.Seq
	segments []eventstream.Run // these do not change
}

// load reads a conversation with its segments. NotFound if there is none.
func load(ctx context.Context, db querier, id event.ConversationID) (*conversation, error) {
	c := &conversation{id: id}
	err := db.QueryRow(ctx, "SELECT key, events, shared FROM conversations WHERE id = $1", encodeText(string(id))).Scan(&c.key, &c.events, &c.shared)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, notFound(id)
	}
	if err != nil || c.shared == 0 {
		return c, err
	}
	return c, c.loadSegments(ctx, db)
}

func (c *conversation) loadSegments(ctx context.Context, db querier) error {
	rows, err := db.Query(ctx, "SELECT first, source, source_first, events FROM segments WHERE conversation = $1 ORDER BY first", c.key)
	if err != nil {
		return err
	}
	next := eventstream.Seq(1)
	c.segments, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (g eventstream.Run, err error) {
		if err = row.Scan(&g.First, &g.Source, &g.SourceFirst, &g.Events); err == nil && g.First != next {
			err = missing(c.id, next)
		}
		next = g.Last() + 1
		return g, err
	})
	if err == nil && next != c.shared+1 {
		err = missing(c.id, next)
	}
	return err
}

const maxIDLen = 255

// checkMeta returns an error of kind Invalid for an id or a document that cannot be
// stored, and the tags as they are stored.
func checkMeta(id event.ConversationID, m eventstream.Meta) (tags string, err error) {
	if id == "" || len(id) > maxIDLen {
		return "", fault.New(fault.Invalid, fmt.Sprintf("a conversation id has 1 to %d bytes", maxIDLen))
	}
	for name, d := range map[string]json.RawMessage{"Extra": m.Extra, "Summary": m.Summary} {
		if d != nil && !json.Valid(d) {
			return "", fault.New(fault.Invalid, name+" of the conversation is not JSON")
		}
	}
	if len(m.Tags) == 0 {
		return "{}", nil
	}
	raw, err := json.Marshal(m.Tags)
	if err != nil {
		return "", fault.Wrap(err, fault.Invalid, "encode the conversation's tags")
	}
	return string(raw), nil
}

// document returns a document as an argument of a statement.
func document(d json.RawMessage) any {
	if d == nil {
		return nil
	}
	return encodeText(string(d))
}

const infoColumns = "c.key, c.id, c.owner, c.title, c.status, c.tags, c.created_at, c.updated_at, c.cost, c.working_dir, c.parent_id, c.fork_of, c.events, c.summary_at, d.summary"

const fromConversations = " FROM conversations c LEFT JOIN documents d ON d.conversation = c.key"

// scanInfo reads a row of infoColumns and maybe more. If a value cannot be decoded
// the id is set, as far as that can be, and the error is of kind Corrupt.
func scanInfo(row pgx.CollectableRow, more ...any) (key int64, info eventstream.Info, err error) {
	var id, parent, forkOf, tags string
	var summary []byte
	m := &info.Meta
	err = row.Scan(append([]any{
		&key, &id, &m.Owner, &m.Title, &info.Status, &tags, &info.Created, &info.Updated, &info.Cost, &m.WorkingDir, &parent, &forkOf, &info.Events, &m.SummaryAt, &summary,
	}, more...)...)
	if err != nil {
		return key, info, err
	}
	if err = decode(&id); err == nil {
		err = decode(&m.Owner, &m.Title, &info.Status, &m.WorkingDir, &parent, &forkOf)
	}
	info.ID, m.Parent, m.ForkOf = event.ConversationID(id), event.ConversationID(parent), event.ConversationID(forkOf)
	info.Created, info.Updated = info.Created.UTC(), info.Updated.UTC()
	if err == nil && tags != "{}" {
		if bad := json.Unmarshal([]byte(tags), &m.Tags); bad != nil {
			err = fault.New(fault.Corrupt, fmt.Sprintf("the tags of conversation %s are damaged", id)).Because(bad)
		}
	}
	if err == nil {
		m.Summary, err = decodeBytes(summary)
	}
	return key, info, err
}

// timestamp is a time as an argument: nil for zero.
func timestamp(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t
}

// runs are all events of the conversation, the own ones last.
func (c *conversation) runs() []eventstream.Run {
	return append(c.segments[:len(c.segments):len(c.segments)], eventstream.Run{First: c.shared + 1, Source: c.key, SourceFirst: c.shared + 1, Events: c.events - c.shared})
}
