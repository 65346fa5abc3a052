package llm

import (
	"hash/maphash"
	"slices"
	"sync"

	"github.com/deft-dev/deft/event"
)

// isNormalized reports whether Normalize would change nothing. It is one pass
// without copies, since it may run before every call over all of the history;
// in doubt it says no.
func isNormalized(msgs []event.Message) bool {
	c := checks.Get().(*normalizedCheck)
	defer checks.Put(c)
	c.reset(len(msgs))
	return c.scan(msgs, 0)
}

var checks = sync.Pool{New: func() any { return &normalizedCheck{} }}

// normalizedCheck looks whether a history is normal, and remembers where it may go
// on when the history has grown. The zero value is ready.
type normalizedCheck struct {
	at    int // messages before it are normal
	begun bool
	seen  seenIDs
}

func (c *normalizedCheck) reset(messages int) {
	c.at, c.begun = 0, false
	c.seen.reset(messages)
}

// look goes on to the end of msgs, and keeps what it found of the first fixed.
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

// turn returns how many messages the first one and the results of its calls
// are, 0 if they are not normal.
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

// seenIDs is a set of the hashes of ids. It tells ids whose hashes are equal
// from a used id no more than it has to: normal then says no, and the slow path
// looks at the ids themselves. What was added since the mark can be taken out
// again.
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

// mark begins what undo takes out.
func (s *seenIDs) mark() { s.since = s.since[:0] }

// undo takes out what was added since the mark. The latest goes first, so that
// nobody looks for others behind it.
func (s *seenIDs) undo() {
	for _, at := range slices.Backward(s.since) {
		s.slots[at] = 0
		s.size--
	}
	s.mark()
}

// add reports whether id is one that may stand in a history and is new.
func (s *seenIDs) add(id string) bool {
	if id == "" || id == "call" {
		return false
	}
	if s.size*2 >= len(s.slots) {
		s.grow()
	}
	at, found := s.place(maphash.String(hashSeed, id) | 1)
	if found {
		return false
	}
	s.slots[at] = maphash.String(hashSeed, id) | 1
	s.size++
	s.since = append(s.since, at)
	return true
}

// place returns where a hash stands, or is to stand.
func (s *seenIDs) place(h uint64) (at int, found bool) {
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

// grow doubles the room. The hashes since the mark go in last, as they came.
func (s *seenIDs) grow() {
	old, latest := s.slots, make([]uint64, len(s.since))
	for i, at := range s.since {
		latest[i], old[at] = old[at], 0
	}
	s.slots = make([]uint64, 2*len(old))
	for _, h := range old {
		if h != 0 {
			at, _ := s.place(h)
			s.slots[at] = h
		}
	}
	for i, h := range latest {
		s.since[i], _ = s.place(h)
		s.slots[s.since[i]] = h
	}
}
