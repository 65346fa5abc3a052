package openhands_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/eventstream/openhands"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/google/go-cmp/cmp"
)

func TestTrajectoryRoundTrip(t *testing.T) {
	t.Parallel()
	s := newStream(t)
	from := importFixture(t, s)
	var out bytes.Buffer
	must.Succeed(t, openhands.ExportTrajectory(t.Context(), s, from.ID, &out))
	var events []json.RawMessage
	if err := json.Unmarshal(out.Bytes(), &events); err != nil || len(events) != from.Events+1 {
		t.Fatalf("got %d events, error %v", len(events), err)
	}
	for _, text := range []string{out.String(), `{"version": 1, "more": [1, {}], "events": ` + out.String() + `, "rest": 2}`} {
		to, err := openhands.ImportTrajectory(t.Context(), s, "", eventstream.Meta{Title: "again"}, strings.NewReader(text))
		must.Succeed(t, err)
		if diff := cmp.Diff(readAll(t, s, from.ID), readAll(t, s, to.ID)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

// TestTrajectoryWellFormed replaces halves of surrogate pairs of a file.
func TestTrajectoryWellFormed(t *testing.T) {
	t.Parallel()
	s := newStream(t)
	file := `[{"id":"` + idA + `","timestamp":"2026-11-29T15:00:00","source":"agent","kind":"SomethingNew","a\ud99c":"\udc00 \ud83d\ude00"}]`
	rep, err := openhands.ImportTrajectory(t.Context(), s, "", eventstream.Meta{}, strings.NewReader(file))
	must.Succeed(t, err)
	got := string(readAll(t, s, rep.ID)[0].JSON)
	if strings.Contains(got, `\ud99c`) || strings.Contains(got, `\udc00`) || !strings.Contains(got, `\ud83d\ude00`) {
		t.Error(got)
	}
}

func TestTrajectoryEmpty(t *testing.T) {
	t.Parallel()
	s := newStream(t)
	id := event.NewConversationID()
	rep, err := openhands.ImportTrajectory(t.Context(), s, id, eventstream.Meta{}, strings.NewReader(" [ ] "))
	if err != nil || rep.ID != id || rep.Events != 0 {
		t.Fatal(rep, err)
	}
	var out bytes.Buffer
	if err := openhands.ExportTrajectory(t.Context(), s, id, &out); err != nil || !json.Valid(out.Bytes()) {
		t.Fatalf("got %q, %v", out.String(), err)
	}
}

// endless is an event that never ends.
type endless struct{ started bool }

func (e *endless) Read(b []byte) (int, error) {
	if !e.started {
		e.started = true
		return copy(b, `[{"a":"`), nil
	}
	for i := range b {
		b[i] = 'x'
	}
	return len(b), nil
}

func TestTrajectoryRefuses(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]io.Reader{
		"nothing":       strings.NewReader(""),
		"text":          strings.NewReader("hello"),
		"number":        strings.NewReader("1"),
		"no events":     strings.NewReader(`{"a":1}`),
		"not an array":  strings.NewReader(`{"events":{}}`),
		"torn":          strings.NewReader("[" + pause(idA, "") + ","),
		"unclosed":      strings.NewReader("[" + pause(idA, "")),
		"not an event":  strings.NewReader(`[1]`),
		"no kind":       strings.NewReader(`[{"id":"x","action":"run"}]`),
		"no id":         strings.NewReader(`[{"kind":"PauseEvent"}]`),
		"root's id":     strings.NewReader("[" + pause("__root__", "") + "]"),
		"double id":     strings.NewReader("[" + pause(idA, "") + "," + pause(idA, "") + "]"),
		"cycle":         strings.NewReader("[" + pause(idA, idB) + "," + pause(idB, idA) + "]"),
		"own child":     strings.NewReader("[" + pause(idA, idA) + "]"),
		"unknown":       strings.NewReader("[" + pause(idA, "gone") + "]"),
		"deep":          strings.NewReader(strings.Repeat("[", 100_000)),
		"endless event": &endless{},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStream(t)
			_, err := openhands.ImportTrajectory(t.Context(), s, "", eventstream.Meta{}, in)
			if !fault.Is(err, fault.Invalid) {
				t.Fatalf("got %v of kind %s", err, fault.KindOf(err))
			}
			if page, err := s.List(t.Context(), eventstream.ListQuery{}); err != nil || len(page.Infos) > 0 {
				t.Fatalf("left behind: %v (%v)", page.Infos, err)
			}
		})
	}
}

func FuzzTrajectory(f *testing.F) {
	f.Add([]byte("[" + pause(idA, "") + "," + pause(idB, idA) + "]"))
	f.Add([]byte(`{"events":[` + pause(idA, "__root__") + `]}`))
	f.Add([]byte(`{"events":[{"id":"x","kind":"Unheard","timestamp":"t","source":"s"}]}`))
	s := newStream(f)
	f.Fuzz(func(t *testing.T, in []byte) {
		rep, err := openhands.ImportTrajectory(t.Context(), s, "", eventstream.Meta{}, bytes.NewReader(in))
		if err != nil {
			if _, ok := errors.AsType[*fault.Error](err); !ok {
				t.Fatalf("error without a kind: %v", err)
			}
			return
		}
		var out bytes.Buffer
		must.Succeed(t, openhands.ExportTrajectory(t.Context(), s, rep.ID, &out))
		again, err := openhands.ImportTrajectory(t.Context(), s, "", eventstream.Meta{}, &out)
		if err != nil || again.Events != rep.Events {
			t.Fatalf("what was exported does not import: %v", err)
		}
	})
}
