package exchange

import "strconv"

// CallIDs are the ids of the calls of one answer. The zero value has none.
type CallIDs struct{ taken map[string]bool }

// Unique returns id, with a number behind it where another call has it already:
// servers give the same id twice, and results are told apart by nothing else.
func (c *CallIDs) Unique(id string) string {
	if c.taken == nil {
		c.taken = map[string]bool{}
	}
	try := id
	for k := 2; c.taken[try]; k++ {
		try = id + "_" + strconv.Itoa(k)
	}
	c.taken[try] = true
	return try
}
