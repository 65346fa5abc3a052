package exchange

import "strconv"

// CallIDs are the ids of the calls of one answer. The zero value is empty.
type CallIDs struct {
	next map[string]int // by id in use: the number to try for its next duplicate
}

// Unique returns id, with a number appended if another call already has it:
// some servers repeat ids, and results are matched by id only. The cost does
// not depend on how often an id occurs.
func (c *CallIDs) Unique(id string) string {
	if c.next == nil {
		c.next = map[string]int{}
	}
	try, k := id, max(c.next[id], 2)
	for ; c.next[try] != 0; k++ {
		try = id + "_" + strconv.Itoa(k)
	}
	c.next[try] = 2
	c.next[id] = max(k, 2)
	return try
}
