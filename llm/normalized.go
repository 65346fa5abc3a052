package llm

import (
	"hash/maphash"
	"slices"
	"sync"

	"github.com/deft-dev/deft/event"
)

// isNormalized reports whether Normalize would change nothing. It is one pass
// without copies, since it may run over the whole history before every call; in
// doubt it returns false.
func isNormalized(msgs []event.Message) bool {
	c := checks.Get().(*normalizedCheck)
	defer checks.Put(c)
	c.reset(len(msgs))
	return c.scan(msgs, 0)
}

var checks = sync.Pool{New: func() any { return &normalizedCheck{} }}

// normalizedCheck checks whether a history is normalized, and remembers where
// to continue when the history has grown. The zero value is ready to use.
type normalizedCheck struct {
	at    int // messages before it are normalized
	begun bool
	seen  seenIDs
}

func (c *normalizedCheck) reset(messages int) {
	c.at, c.begun = 0, false
	c.seen.reset(messages)
}

// scan checks msgs from where the last check ended. It remembers only its findings
// in the first fixed messages.
func (c *normalizedCheck) scan(msgs []event.Message, fixed int) bool {
	if c.seen.slots == nil {
		c.reset(len(msgs))
	}
	i, begun := c.at, c.begun
	for {
		if i <= fixed {
			c.at, c.begun = i, begun
			c.seen.mark()
		}
		if i >= len(msgs) {
			break
		}
		n := c.turn(msgs[i:], &begun)
		if n == 0 {
			break
		}
		i += n
	}
	c.seen.undo()
	return i == len(msgs)
}

// turn returns the number of messages of the first one and the results of its
// calls, 0 if they are not normalized.
func (c *normalizedCheck) turn(msgs []event.Message, begun *bool) int {
	m := &msgs[0]
	if m.Role != event.RoleSystem && !*begun {
		*begun = true
		if m.Role != event.RoleUser {
			return 0
		}
	}
	switch m.Role {
	case event.RoleSystem, event.RoleUser:
		if m.ToolCalls != nil || m.ToolCallID != "" || !hasContent(m.Content) {
			return 0
		}
		return 1
	case event.RoleAssistant:
	default:
		return 0
	}
	if m.ToolCallID != "" || len(m.ToolCalls) == 0 && !hasContent(m.Content) {
		return 0
	}
	n := 1
	for k := range m.ToolCalls {
		call := &m.ToolCalls[k]
		if n == len(msgs) || !isCleanName(call.Name) || !answers(&msgs[n], call) || !c.seen.add(call.ID) {
			return 0
		}
		n++
	}
	return n
}

// answers reports whether m is the result of c as Normalize writes it.
func answers(m *event.Message, c *event.ToolCall) bool {
	return m.Role == event.RoleTool && m.ToolCallID == c.ID && m.Name == c.Name && m.ToolCalls == nil
}

// seenIDs is a set of the hashes of ids. Two ids with equal hashes count as a
// repeated id; isNormalized is then false, and Normalize compares the ids
// themselves. Entries added since the mark can be removed again.
type seenIDs struct {
	slots []uint64 // 0 is free; a power of two, at most half full
	size  int
	since []int // the slots filled since the mark
}

var hashSeed = maphash.MakeSeed()

func (s *seenIDs) reset(messages int) {
	// Each call takes two messages, so n/2 calls at most.
	size := 64
	for size < messages {
		size *= 2
	}
	s.size, s.since = 0, s.since[:0]
	if size > len(s.slots) {
		s.slots = make([]uint64, size)
		return
	}
	s.slots = s.slots[:size]
	clear(s.slots)
}

// mark remembers the current state for undo.
func (s *seenIDs) mark() { s.since = s.since[:0] }

// undo removes the entries added since the mark, latest first, so that probing
// sequences stay intact.
func (s *seenIDs) undo() {
	for _, at := range slices.Backward(s.since) {
		s.slots[at] = 0
		s.size--
	}
	s.mark()
}

// add adds id and reports whether it is allowed in a history and new.
func (s *seenIDs) add(id string) bool {
	if id == "" || id == "call" {
		return false
	}
	if s.size*2 >= len(s.slots) {
		s.grow()
	}
	at, found := s.slot(maphash.String(hashSeed, id) | 1)
	if found {
		return false
	}
	s.slots[at] = maphash.String(hashSeed, id) | 1
	s.size++
	s.since = append(s.since, at)
	return true
}

// slot returns the index of a hash, or of the free slot for it.
func (s *seenIDs) slot(h uint64) (at int, found bool) {
	mask := uint64(len(s.slots) - 1)
	for at := h >> 1 & mask; ; at = (at + 1) & mask {
		switch s.slots[at] {
		case 0:
			return int(at), false
		case h:
			return int(at), true
		}
	}
}

// grow doubles the table. The hashes added since the mark are inserted last, in
// their order.
func (s *seenIDs) grow() {
	old, latest := s.slots, make([]uint64, len(s.since))
	for i, at := range s.since {
		latest[i], old[at] = old[at], 0
	}
	s.slots = make([]uint64, 2*len(old))
	for _, h := range old {
		if h != 0 {
			at, _ := s.slot(h)
			s.slots[at] = h
		}
	}
	for i, h := range latest {
		s.since[i], _ = s.slot(h)
		s.slots[s.since[i]] = h
	}
}
