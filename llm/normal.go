package llm

import (
	"hash/maphash"
	"sync"

	"github.com/deft-dev/deft/event"
)

// normal reports whether Normalize would change nothing. It is one pass
// without copies, since it runs before every call over all of the history; in
// doubt it says no.
func normal(msgs []event.Message) bool {
	seen := seenPool.Get().(*seenIDs)
	defer seenPool.Put(seen)
	seen.reset(len(msgs))
	begun := false
	for i := 0; i < len(msgs); {
		m := &msgs[i]
		i++
		if m.Role != event.RoleSystem && !begun {
			begun = true
			if m.Role != event.RoleUser {
				return false
			}
		}
		switch m.Role {
		case event.RoleSystem, event.RoleUser:
			if m.ToolCalls != nil || m.ToolCallID != "" || !hasContent(m.Content) {
				return false
			}
			continue
		case event.RoleAssistant:
		default:
			return false
		}
		if m.ToolCallID != "" || len(m.ToolCalls) == 0 && !hasContent(m.Content) {
			return false
		}
		for k := range m.ToolCalls {
			c := &m.ToolCalls[k]
			if i == len(msgs) || !isCleanName(c.Name) || !answers(&msgs[i], c) || !seen.add(c.ID) {
				return false
			}
			i++
		}
	}
	return true
}

// answers reports whether m is the result of c as Normalize writes it.
func answers(m *event.Message, c *event.ToolCall) bool {
	return m.Role == event.RoleTool && m.ToolCallID == c.ID && m.Name == c.Name && m.ToolCalls == nil
}

// seenIDs is a set of the hashes of ids. It tells ids whose hashes are equal
// from a used id no more than it has to: normal then says no, and the slow path
// looks at the ids themselves.
type seenIDs struct {
	seed  maphash.Seed
	slots []uint64 // 0 is free; a power of two, at most half full
}

var seenPool = sync.Pool{New: func() any { return &seenIDs{seed: maphash.MakeSeed()} }}

func (s *seenIDs) reset(messages int) {
	// Each call takes two messages, so n/2 calls at most.
	size := 64
	for size < messages {
		size *= 2
	}
	if size > len(s.slots) {
		s.slots = make([]uint64, size)
		return
	}
	s.slots = s.slots[:size]
	clear(s.slots)
}

// add reports whether id is one that may stand in a history and is new.
func (s *seenIDs) add(id string) bool {
	if id == "" || id == "call" {
		return false
	}
	h := maphash.String(s.seed, id) | 1
	mask := uint64(len(s.slots) - 1)
	for at := h >> 1 & mask; ; at = (at + 1) & mask {
		switch s.slots[at] {
		case 0:
			s.slots[at] = h
			return true
		case h:
			return false
		}
	}
}
