package socket

import "github.com/deft-dev/deft/event"

// Formers returns how many clients of an earlier contract follow a conversation.
func (s *Service) Formers(id event.ConversationID) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.feeds[id]; f != nil {
		return int(f.ring.formers.Load())
	}
	return 0
}

// former returns what clients of an earlier contract get of an event, if the ring has such
// followers: it is translated once for all of them, and outside the ring's lock.
func (s *Service) former(r *ring, raw []byte) []byte {
	if r.formers.Load() == 0 || raw == nil {
		return nil
	}
	return s.translate(raw)
}

// translate never returns nil.
func (s *Service) translate(raw []byte) []byte {
	if b := s.o.Former.Event(raw); b != nil {
		return b
	}
	return []byte{}
}

// frame adds the frame of an event to a batch. former is its translation, nil if it was
// made before the follower joined.
func (f *follower) frame(b *batch, raw, former []byte) {
	if !f.p.former {
		b.text(raw)
		return
	}
	if former == nil {
		former = f.s.translate(raw)
	}
	if len(former) > 0 {
		b.text(former)
	}
}

// sendFormer sends an event in its former form.
func (s *Service) sendFormer(l *link, raw []byte) error {
	if b := s.translate(raw); len(b) > 0 {
		return l.sendText(b)
	}
	return nil
}
