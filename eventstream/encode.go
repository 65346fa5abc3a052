package eventstream

import (
	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/fault"
)

// Encode makes the record of an event, without a Seq. It is called once for
// each event, by Append. Invalid for an event without id or that does not
// encode.
func Encode(ev event.Event) (Record, error) {
	m := ev.Meta()
	if m.ID == "" {
		return Record{}, fault.New(fault.Invalid, "an event needs an id")
	}
	raw, err := event.Marshal(ev)
	if err != nil {
		return Record{}, fault.Wrap(err, fault.Invalid, "encode event")
	}
	return Record{
		ID: m.ID, ParentID: m.ParentID, Kind: ev.Kind(),
		Source: m.Source, Timestamp: m.Timestamp, JSON: raw,
	}, nil
}
