package sqlite

import (
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/google/go-cmp/cmp"
)

// FuzzUnpack reads rows that damage made: whatever is accepted must be a row
// that packing the result makes again.
func FuzzUnpack(f *testing.F) {
	l := label{"K", "user"}
	for _, parent := range []event.ID{"", event.Root, "0f0e0d0c-0b0a-4908-8706-050403020100"} {
		p := pack(eventstream.Record{ID: "x", ParentID: parent, Kind: l.kind, Source: l.source, JSON: []byte("{}")})
		f.Add(p.place(1, 2), "x", "")
	}
	f.Fuzz(func(t *testing.T, rec []byte, id, ts string) {
		r, why := unpack(1, 2, l, true, ts, id, rec)
		if why != "" {
			return
		}
		p := pack(r)
		again, why := unpack(1, 2, l, true, p.ts, p.id, p.place(1, 2))
		if diff := cmp.Diff(r, again); why != "" || diff != "" {
			t.Fatalf("%s (-first +again):\n%s", why, diff)
		}
	})
}

func FuzzIDs(f *testing.F) {
	for _, id := range []string{"", "x", "0f0e0d0c-0b0a-4908-8706-050403020100", "0F0E0D0C-0B0A-4908-8706-050403020100", "0f0e0d0c+0b0a-4908-8706-050403020100"} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got := unpackID(packID(event.ID(s))); got != event.ID(s) {
			t.Fatalf("%q came back as %q", s, got)
		}
		parent, rest, ok := cutParent(append(appendParent(nil, event.ID(s)), "rest"...))
		if !ok || parent != event.ID(s) || string(rest) != "rest" {
			t.Fatalf("%q came back as %q, %q, %v", s, parent, rest, ok)
		}
	})
}

func FuzzStatusAndBody(f *testing.F) {
	f.Add([]byte(`{"key":"execution_status","value":"running"}`))
	f.Add([]byte(`{"llm_message":{"content":[{"type":"text","text":"running"}]}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		statusOf(raw)
		inMessage(raw, "running")
	})
}
