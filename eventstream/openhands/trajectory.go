package openhands

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/textfile"
)

// ExportTrajectory writes the events of a conversation as a JSON array, one
// on each line, each with the bytes as they are stored.
func ExportTrajectory(ctx context.Context, s eventstream.Stream, id event.ConversationID, w io.Writer) error {
	b := bufio.NewWriter(w)
	sep := "[\n"
	for r, err := range s.Read(ctx, id, 1) {
		if err != nil {
			return fmt.Errorf("export trajectory: %w", err)
		}
		b.WriteString(sep) // bufio keeps the first error for Flush
		b.Write(r.JSON)
		sep = ",\n"
	}
	if sep == "[\n" {
		b.WriteString("[")
	}
	b.WriteString("\n]\n")
	if err := b.Flush(); err != nil {
		return fmt.Errorf("export trajectory: %w", err)
	}
	return nil
}

// ImportTrajectory reads a trajectory into a new conversation. An empty id
// makes a new one. Input that is not a trajectory
// of events is refused as a whole with Invalid: an id that occurs twice, a
// parent that is not an earlier event, an event of more than 64 MB.
func ImportTrajectory(ctx context.Context, s eventstream.Stream, id event.ConversationID, meta eventstream.Meta, r io.Reader) (Report, error) {
	if id == "" {
		id = event.NewConversationID()
	}
	n, err := importInto(ctx, s, id, meta, func(in *appender) error {
		return eachEvent(r, func(n int, raw json.RawMessage) error {
			if err := ctx.Err(); err != nil {
				return fault.Wrap(err, fault.Canceled, "the import was canceled")
			}
			rec, ev, err := parse(raw)
			if err == nil {
				err = in.add(ctx, rec, ev)
			}
			if err != nil {
				return fmt.Errorf("event %d: %w", n, err)
			}
			return nil
		})
	})
	if err != nil {
		return Report{}, fmt.Errorf("import trajectory: %w", err)
	}
	return Report{ID: id, Events: n}, nil
}

// ReadTrajectory decodes the events of a trajectory, to replay it without storing
// it. It has the errors of [ImportTrajectory].
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

// meter ends the input when one event is too large, before the decoder has
// read all of it into memory.
type meter struct {
	r    io.Reader
	left int64
}

var errTooLarge = fault.New(fault.Invalid, fmt.Sprintf("an event is larger than %d MB", maxFile>>20))

func (m *meter) Read(b []byte) (int, error) {
	if m.left <= 0 {
		return 0, errTooLarge
	}
	n, err := m.r.Read(b)
	m.left -= int64(n)
	return n, err
}

// eachEvent calls fn for each element of the array that r holds, or that an
// object has under "events". n counts from 1. The raw bytes belong to fn.
func eachEvent(r io.Reader, fn func(n int, raw json.RawMessage) error) error {
	m := &meter{r: textfile.Reader(r), left: maxFile}
	dec := json.NewDecoder(m)
	if err := seekArray(dec, m); err != nil {
		return err
	}
	for n := 1; dec.More(); n++ {
		m.left = maxFile
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return notTrajectory(err)
		}
		if err := fn(n, raw); err != nil {
			return err
		}
	}
	m.left = maxFile
	if _, err := dec.Token(); err != nil { // the array's end
		return notTrajectory(err)
	}
	return nil
}

func seekArray(dec *json.Decoder, m *meter) error {
	t, err := dec.Token()
	if err != nil {
		return notTrajectory(err)
	}
	if t == json.Delim('[') {
		return nil
	}
	if t != json.Delim('{') {
		return notTrajectory(errors.New("it is neither an array nor an object"))
	}
	for dec.More() {
		m.left = maxFile
		key, err := dec.Token()
		if err != nil {
			return notTrajectory(err)
		}
		if key == "events" {
			if t, err = dec.Token(); err == nil && t == json.Delim('[') {
				return nil
			}
			return notTrajectory(errors.New(`"events" is not an array`))
		}
		var skip json.RawMessage
		if err := dec.Decode(&skip); err != nil {
			return notTrajectory(err)
		}
	}
	return notTrajectory(errors.New(`it has no "events"`))
}

func notTrajectory(err error) error {
	if _, ok := errors.AsType[*fault.Error](err); ok {
		return err
	}
	return fault.New(fault.Invalid, "the input is not a trajectory").
		Hint("a trajectory is a JSON array of events, as `deft conversations export` writes it").Because(err)
}
