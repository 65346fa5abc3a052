package openhands

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/deft-dev/deft/event"
)

// ReadTrajectory decodes the events of a trajectory, to replay it without
// storing it. Errors are those of [ImportTrajectory].
func ReadTrajectory(r io.Reader) ([]event.Event, error) {
	var evs []event.Event
	err := eachEvent(r, func(n int, raw json.RawMessage) error {
		_, ev, err := parse(raw)
		if err != nil {
			return fmt.Errorf("event %d: %w", n, err)
		}
		evs = append(evs, ev)
		return nil
	})
	return evs, err
}
