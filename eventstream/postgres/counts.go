package postgres

import "github.com/jackc/pgx/v5"

// counts are changes of the table conversation_counts.
type counts struct {
	owners, statuses []string
	children         []bool
	changes          []int64
}

// add counts n conversations more.
func (c *counts) add(owner, status string, child bool, n int64) {
	c.owners, c.statuses = append(c.owners, owner), append(c.statuses, status)
	c.children, c.changes = append(c.children, child), append(c.changes, n)
}

// queue adds the statement to a batch. It locks rows in their order, after all
// conversations, so that transactions do not wait for each other in a circle.
func (c *counts) queue(b *pgx.Batch) {
	if len(c.changes) == 0 {
		return
	}
	b.Queue(`INSERT INTO conversation_counts AS n (owner, status, child, conversations)
SELECT owner, status, child, sum(change) FROM unnest($1::text[], $2::text[], $3::boolean[], $4::bigint[]) c (owner, status, child, change)
GROUP BY owner, status, child HAVING sum(change) <> 0 ORDER BY owner COLLATE "C", status COLLATE "C", child
ON CONFLICT (owner, status, child) DO UPDATE SET conversations = n.conversations + excluded.conversations`, c.owners, c.statuses, c.children, c.changes)
}
