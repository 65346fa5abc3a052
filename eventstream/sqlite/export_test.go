package sqlite

import (
	"database/sql/driver"

	"github.com/deft-dev/deft/eventstream"
)

// PageQuery returns the query for a page of conversations, the second one if its start is
// given, and the position after it.
func PageQuery(q eventstream.ListQuery, start string) (query string, args []driver.Value, after string, afterArgs []driver.Value) {
	l := newListing(q, "")
	if p, ok := parsePosition(start); ok {
		l.from(p)
	}
	return l.query(), append(l.args, int64(20)), l.afterWindow(), l.windowArgs
}
