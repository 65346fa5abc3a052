package sqlite

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"time"

	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
)

// complete checks that no part of the old store was passed by: rows that are
// gone show as events without a conversation, or in what an index counts.
func (t *transfer) complete() error {
	lost := fault.New(fault.Corrupt, "the event database has lost conversations").Hint(salvageHint)
	for _, sql := range []string{"SELECT count(*) FROM conversations", "SELECT count(*) FROM heads"} {
		n, _, err := t.old.c.number(sql)
		if err != nil {
			return err
		}
		if n != t.conversations {
			return lost
		}
	}
	logs, err := t.old.logs()
	if err != nil {
		return err
	}
	for _, log := range logs {
		if _, ok := t.moved[log]; ok {
			continue
		}
		_, dead, err := t.old.c.number("SELECT 1 FROM dead WHERE log = ?", log)
		if err != nil {
			return err
		}
		if !dead {
			return lost
		}
	}
	return nil
}

// compare reads a conversation from both stores: what is known about it, its
// own events, and of each run that it shares the first and the last event.
// The other ones were compared where they belong.
func (t *transfer) compare(ctx context.Context, c *conversation1) error {
	got, err := t.dst.Info(ctx, c.id)
	if err != nil {
		return err
	}
	want := eventstream.Info{
		ID: c.id, Created: time.Unix(0, c.created).UTC(), Updated: time.Unix(0, c.updated).UTC(),
		Events: c.events, Status: c.status, Meta: c.meta,
	}
	if !reflect.DeepEqual(got, want) {
		return fault.New(fault.Internal, fmt.Sprintf("the copy of conversation %s is not like it", c.id)).Hint(oldHint)
	}
	for _, p := range c.pieces {
		for _, one := range [...]piece{{p.src, p.first, p.first, p.at}, {p.src, p.last, p.last, p.end()}} {
			if err := t.compareEvents(ctx, c, one); err != nil {
				return err
			}
		}
	}
	return t.compareEvents(ctx, c, c.own())
}

func (t *transfer) compareEvents(ctx context.Context, c *conversation1, p piece) error {
	if p.first > p.last {
		return nil
	}
	var page []eventstream.Record
	for got, err := range t.dst.Read(ctx, c.id, p.at) {
		if err != nil {
			return err
		}
		if len(page) == 0 {
			if page, err = t.old.page(c.id, p); err != nil {
				return err
			}
			t.events += int64(len(page))
			t.tell(t.events, t.total)
		}
		if !sameEvent(got, page[0]) || got.Seq != p.at {
			break
		}
		page = page[1:]
		p.first++
		p.at++
		if p.first > p.last {
			return nil
		}
	}
	return fault.New(fault.Internal, fmt.Sprintf("event %d of conversation %s was not copied as it is", p.at, c.id)).Hint(oldHint)
}

// sameEvent compares all but the number.
func sameEvent(a, b eventstream.Record) bool {
	return a.ID == b.ID && a.ParentID == b.ParentID && a.Kind == b.Kind && a.Source == b.Source &&
		a.Timestamp == b.Timestamp && bytes.Equal(a.JSON, b.JSON)
}

const oldHint = "nothing has changed: the Deft that wrote the store can use it as before"
