package sqlite

import (
	"database/sql/driver"
	"fmt"

	"github.com/deft-dev/deft/eventstream"
)

// rowOf returns the columns of the row of a run in the fork with a key.
func rowOf(g eventstream.Run, key int64) []driver.Value {
	return []driver.Value{key, int64(g.First), g.Source, int64(g.SourceFirst), int64(g.Events)}
}

func sumOf(g eventstream.Run, key int64) int64 { return int64(checksum(0, rowOf(g, key)...)) }

func (c *conversation) loadSegments(db *conn) error {
	next := eventstream.Seq(1)
	r := db.query("SELECT first, source, source_first, events, checksum FROM segments WHERE conversation = ? ORDER BY first", c.key)
	for r.next() {
		g := eventstream.Run{First: eventstream.Seq(r.int(0)), Source: r.int(1), SourceFirst: eventstream.Seq(r.int(2)), Events: eventstream.Seq(r.int(3))}
		if r.err == nil && (sumOf(g, c.key) != r.int(4) || g.First != next) {
			r.err = fmt.Errorf("a segment of conversation %s does not match its checksum: %w", c.id, errDamaged)
		}
		next = g.Last() + 1
		c.segments = append(c.segments, g)
	}
	if err := r.close(); err != nil {
		return err
	}
	if next != c.shared+1 {
		return fmt.Errorf("conversation %s has lost segments: %w", c.id, errDamaged)
	}
	return nil
}

// runs are all events of the conversation, the own ones last.
func (c *conversation) runs() []eventstream.Run {
	return append(c.segments[:len(c.segments):len(c.segments)], eventstream.Run{First: c.shared + 1, Source: c.key, SourceFirst: c.shared + 1, Events: c.events - c.shared})
}
