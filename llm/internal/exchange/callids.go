package exchange

import "strconv"

// CallIDs are the ids of the calls of one answer. The zero value has none.
type CallIDs struct {
	next map[string]int // by the ids that are taken: the number to try for the next one alike
}

// Unique returns id, with a number behind it where another call has it already:
// servers give the same id twice, and results are told apart by nothing else.
// However often one id comes, each costs the same.
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
