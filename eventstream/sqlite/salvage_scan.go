package sqlite

import (
	"maps"
	"slices"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
)

// scanned is a [source] that has looked at every record, because what tells
// where they are may be damaged too.
type scanned struct {
	c      *conn
	labels *labels
	f      *fetcher
	spots  map[int64]map[eventstream.Seq]spot // of every intact record, by log
}

// maxHole is after how many unreadable chunks in a row there are none left.
const maxHole = 20_000

// scan finds every intact record, whatever has become of the places.
func scan(c *conn, l *labels) *scanned {
	s := &scanned{c: c, labels: l, f: newFetcher(c, l), spots: map[int64]map[eventstream.Seq]spot{}}
	hole := 0
	for from := int64(0); hole < maxHole; from++ {
		r := s.c.query("SELECT chunk, recs FROM chunks WHERE chunk >= ? ORDER BY chunk", from)
		for r.next() {
			chunk, recs := r.int(0), r.blob(1)
			if chunk < from {
				break
			}
			from, hole = chunk, 0
			s.noteAll(chunk, recs)
		}
		if r.close() == nil {
			break
		}
		hole++
	}
	return s
}

func (s *scanned) noteAll(chunk int64, recs []byte) {
	for slot := 0; len(recs) > 0; slot++ {
		rec, rest, ok := cutRecord(recs)
		if !ok {
			return
		}
		if p, _, why := unpack(rec, s.labels.get); why == "" {
			if s.spots[p.log] == nil {
				s.spots[p.log] = map[eventstream.Seq]spot{}
			}
			s.spots[p.log][p.seq] = spot{chunk: chunk, slot: slot}
		}
		recs = rest
	}
}

func (s *scanned) conversation(id event.ConversationID) (*head, eventstream.Meta, error) {
	var meta eventstream.Meta
	h, err := loadHead(s.c, id)
	if err == nil && h == nil {
		err = notFound(id)
	}
	if err != nil {
		return nil, meta, err
	}
	r := s.c.query("SELECT metasum, meta, extra FROM conversations WHERE log = ?", h.log)
	if r.next() {
		// Meta data that is damaged is no reason to give the name up.
		meta, _ = (packedMeta{r.blob(1), r.blob(2)}).unpack(h.log, r.int(0))
	}
	return h, meta, r.close()
}

func (s *scanned) record(log int64, seq eventstream.Seq) (rec eventstream.Record, ok bool) {
	at, ok := s.spots[log][seq]
	if !ok {
		return rec, false
	}
	// It was read before; what fails now is lost.
	n, _, err := s.f.fetch(log, []item{{seq, at}}, func(r eventstream.Record) bool { rec = r; return true })
	return rec, err == nil && n == 1
}

func (s *scanned) done() { _ = s.f.close() } // it has been read, or counted as lost

func (s *scanned) logs() ([]int64, error) { return slices.Sorted(maps.Keys(s.spots)), nil }

func (s *scanned) span(log int64) (first, last eventstream.Seq, err error) {
	seqs := slices.Sorted(maps.Keys(s.spots[log]))
	return seqs[0], seqs[len(seqs)-1], nil
}
