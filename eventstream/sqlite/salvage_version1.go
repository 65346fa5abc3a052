package sqlite

import (
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
)

// Here version1 is a [source]: its events are found by their key.

func (v *version1) conversation(id event.ConversationID) (*head, eventstream.Meta, error) {
	c, err := v.load(v.c.query(selectVersion1+"c.id = ?", string(id)))
	if err == nil && c == nil {
		err = notFound(id)
	}
	if err != nil {
		return nil, eventstream.Meta{}, err
	}
	return &c.head, c.meta, nil
}

func (v *version1) record(log int64, seq eventstream.Seq) (rec eventstream.Record, ok bool) {
	r := v.c.query(selectRecords1, log, int64(seq), int64(seq), int64(1))
	if r.next() {
		var why string
		rec, why = v.unpack(r, log)
		ok = why == ""
	}
	return rec, r.close() == nil && ok
}

// logs lists the logs that have events. An error ends the list early.
func (v *version1) logs() (logs []int64, err error) {
	for at := int64(0); ; {
		n, found, err := v.c.number("SELECT log FROM records WHERE log > ? ORDER BY log LIMIT 1", at)
		if err != nil || !found || n <= at {
			return logs, err
		}
		logs, at = append(logs, n), n
	}
}

// span returns the first and the last event of a log, 0 for none.
func (v *version1) span(log int64) (first, last eventstream.Seq, err error) {
	a, _, err := v.c.number("SELECT seq FROM records WHERE log = ? ORDER BY seq LIMIT 1", log)
	if err != nil {
		return 0, 0, err
	}
	b, _, err := v.c.number("SELECT seq FROM records WHERE log = ? ORDER BY seq DESC LIMIT 1", log)
	return eventstream.Seq(a), eventstream.Seq(b), err
}

func (v *version1) done() {}
