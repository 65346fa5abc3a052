package bash

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sort"
	"time"

	"github.com/deft-dev/deft/fault"
)

// Query selects events (docs/openhands/sdk-wire.md section 10). The zero value
// selects all.
type Query struct {
	Kind     string     // KindCommand, KindOutput, or "" for both
	Command  *ID        // only outputs of this command
	From, To *time.Time // From included, To not
	// OrderAfter selects outputs with a higher order.
	OrderAfter *int
	Descending bool
	// Page is the id that the previous page returned; an unknown one means the
	// first page.
	Page string
	// Limit is the size of a page; 0 takes 100.
	Limit int
}

const pageSize = 100

// Search calls emit with each event of a page as JSON, and returns the id of the
// next page, or "" after the last. It holds one event in memory at a time. A file
// that cannot be read is skipped with a warning.
func (s *Service) Search(q Query, emit func(json.RawMessage) error) (next string, err error) {
	list, err := s.selected(q)
	if err != nil {
		return "", err
	}
	q.Limit = cmp.Or(q.Limit, pageSize)
	at := func(i int) *entry {
		if q.Descending {
			return list[len(list)-1-i]
		}
		return list[i]
	}
	count := 0
	for i := pageStart(list, q); i < len(list); i++ {
		e := at(i)
		if ok, err := s.passes(e, q); err != nil || !ok {
			s.warnUnreadable(e, err)
			continue
		}
		if count == q.Limit {
			return e.name(), nil
		}
		data, err := s.read(e)
		if err != nil {
			s.warnUnreadable(e, err)
			continue
		}
		if err := emit(data); err != nil {
			return "", err
		}
		count++
	}
	return "", nil
}

// selected returns the part of the index that can match q.
func (s *Service) selected(q Query) ([]*entry, error) {
	x, err := s.opened()
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	list := x.all
	if q.Command != nil {
		list = x.byCommand[*q.Command]
	}
	s.mu.Unlock()
	if q.To != nil {
		list = list[:countBefore(list, stamp(q.To.UnixMicro()))]
	}
	if q.From != nil {
		list = list[countBefore(list, stamp(q.From.UnixMicro())):]
	}
	return list, nil
}

// pageStart returns the index of a page's first event.
func pageStart(list []*entry, q Query) int {
	want := entryOf(q.Page)
	if want == nil {
		return 0
	}
	i, ok := sort.Find(len(list), func(i int) int { return want.compare(list[i]) })
	switch {
	case !ok:
		return 0
	case q.Descending:
		return len(list) - 1 - i
	}
	return i
}

func (s *Service) passes(e *entry, q Query) (bool, error) {
	if q.Kind != "" && e.output != (q.Kind == KindOutput) {
		return false, nil
	}
	if q.OrderAfter == nil || !e.output {
		return true, nil
	}
	order, err := s.orderOf(e)
	return err == nil && order > *q.OrderAfter, err
}

func (s *Service) warnUnreadable(e *entry, err error) {
	if err != nil && ignoreMissing(err) != nil {
		s.o.Log.Warn("bash event cannot be read", "name", e.name(), "error", err)
	}
}

// Get returns an event as JSON. NotFound if there is none.
func (s *Service) Get(id ID) (json.RawMessage, error) {
	x, err := s.opened()
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	e := x.byID[id]
	s.mu.Unlock()
	if e == nil {
		return nil, fault.New(fault.NotFound, "no bash event "+id.String())
	}
	data, err := s.read(e)
	if err != nil {
		s.warnUnreadable(e, err)
		return nil, fault.New(fault.NotFound, "no bash event "+id.String()).Because(err)
	}
	return data, nil
}

// outputs returns the outputs of a command by order.
func (s *Service) outputs(command ID) ([]*entry, error) {
	list, err := s.selected(Query{Command: &command})
	if err != nil {
		return nil, err
	}
	for _, e := range list {
		if _, err := s.orderOf(e); err != nil {
			return nil, err
		}
	}
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b *entry) int { return int(a.order.Load()) - int(b.order.Load()) })
	return list, nil
}

// WriteOutput writes the whole output of a finished command as one BashOutput
// event: everything it printed, and the id, order and exit code of its last
// event. It holds one chunk in memory at a time.
func (s *Service) WriteOutput(w io.Writer, command ID) error {
	list, err := s.outputs(command)
	if err != nil {
		return err
	}
	final := Output{ID: newID(), Timestamp: stamp(time.Now().UnixMicro()), CommandID: command, Kind: KindOutput}
	if len(list) > 0 {
		if final, err = s.output(list[len(list)-1]); err != nil {
			return err
		}
	}
	if final.ExitCode == nil {
		final.ExitCode = new(-1)
	}
	if len(list) <= 1 {
		return writeJSON(w, final)
	}
	_, err = fmt.Fprintf(w, `{"id":"%s","timestamp":"%s","command_id":"%s","order":%d,"exit_code":%d`,
		final.ID, final.Timestamp.time().Format(stampText), command, final.Order, *final.ExitCode)
	if err != nil {
		return err
	}
	for _, field := range []string{"stdout", "stderr"} {
		if err := s.writeJoined(w, list, field); err != nil {
			return err
		}
	}
	_, err = io.WriteString(w, `,"kind":"`+KindOutput+`"}`)
	return err
}

// writeJoined writes one text of several outputs as one field.
func (s *Service) writeJoined(w io.Writer, list []*entry, field string) error {
	open := false
	for _, e := range list {
		o, err := s.output(e)
		if err != nil {
			return err
		}
		text := o.Stdout
		if field == "stderr" {
			text = o.Stderr
		}
		if text == nil || *text == "" {
			continue
		}
		quoted, err := encode(*text)
		if err != nil {
			return err
		}
		if !open {
			open = true
			if _, err := io.WriteString(w, `,"`+field+`":"`); err != nil {
				return err
			}
		}
		if _, err := w.Write(quoted[1 : len(quoted)-1]); err != nil {
			return err
		}
	}
	end := `,"` + field + `":null`
	if open {
		end = `"`
	}
	_, err := io.WriteString(w, end)
	return err
}

func writeJSON(w io.Writer, v any) error {
	data, err := encode(v)
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}
