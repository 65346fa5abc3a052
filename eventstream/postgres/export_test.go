package postgres

import "github.com/deft-dev/deft/eventstream"

// PageQuery returns the query for a page of conversations, the second one if its start is
// given, and the position after it.
func PageQuery(q eventstream.ListQuery, start string) (query string, args []any, after string, afterArgs []any) {
	l := newListing(q, true)
	if p, ok := parsePosition(start); ok {
		l.from(p)
	}
	query, args = l.query(20)
	return query, args, l.afterWindow(), l.start.args
}
