package eventstream_test

import (
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/deft-dev/deft/fault"
	"github.com/deft-dev/deft/internal/must"
	"github.com/google/go-cmp/cmp"
)

func TestEncode(t *testing.T) {
	t.Parallel()
	ev := event.NewUserMessage("hello")
	ev.ParentID = event.Root
	r, err := eventstream.Encode(ev)
	must.Succeed(t, err)
	raw, err := event.Marshal(ev)
	must.Succeed(t, err)
	want := eventstream.Record{
		ID: ev.ID, ParentID: event.Root, Kind: "MessageEvent",
		Source: event.SourceUser, Timestamp: ev.Timestamp, JSON: raw,
	}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	back, err := r.Event()
	if err != nil || back.Meta().ID != ev.ID {
		t.Errorf("got %v, %v", back, err)
	}
}

func TestEncodeRefuses(t *testing.T) {
	t.Parallel()
	for name, ev := range map[string]event.Event{
		"no id":          &event.PauseEvent{},
		"no observation": &event.ObservationEvent{Base: event.NewBase(event.SourceEnvironment)},
	} {
		if _, err := eventstream.Encode(ev); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s gives %v", name, err)
		}
	}
}
