package sqlite

import (
	"encoding/binary"
	"testing"

	"github.com/deft-dev/deft/event"
	"github.com/deft-dev/deft/eventstream"
	"github.com/google/go-cmp/cmp"
)

// FuzzUnpack reads records that damage made: whatever is accepted must be a
// record that packing the result makes again.
func FuzzUnpack(f *testing.F) {
	l := label{"K", "user"}
	resolve := func(int64) (label, bool) { return l, true }
	for _, parent := range []event.ID{"", event.Root, "0f0e0d0c-0b0a-4908-8706-050403020100"} {
		p := pack(eventstream.Record{ID: "x", ParentID: parent, Kind: l.kind, Source: l.source, JSON: []byte("{}")})
		f.Add(append(p.prefix(nil, 1, 2, 3), p.rest...))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		at, r, why := unpack(b, resolve)
		if why != "" {
			return
		}
		p := pack(r)
		_, again, why := unpack(append(p.prefix(nil, at.log, at.seq, at.label), p.rest...), resolve)
		if diff := cmp.Diff(r, again); why != "" || diff != "" {
			t.Fatalf("%s (-first +again):\n%s", why, diff)
		}
	})
}

// FuzzVersion1 reads rows of version 1 that damage made: whatever is accepted
// must come back from a row that is made of it.
func FuzzVersion1(f *testing.F) {
	l := label{"K", "user"}
	row := func(r eventstream.Record) []byte {
		b := binary.LittleEndian.AppendUint32(nil, placeSum(contentSum(r), 1, r.Seq))
		return append(appendID(b, r.ParentID), r.JSON...)
	}
	for _, parent := range []event.ID{"", event.Root, "0f0e0d0c-0b0a-4908-8706-050403020100"} {
		f.Add(row(eventstream.Record{Seq: 2, ID: "x", ParentID: parent, Kind: l.kind, Source: l.source, JSON: []byte("{}")}), "x", "")
	}
	f.Fuzz(func(t *testing.T, raw []byte, id, ts string) {
		r, why := unpack1(1, 2, l, ts, id, raw)
		if why != "" {
			return
		}
		again, why := unpack1(1, 2, l, ts, id, row(r))
		if diff := cmp.Diff(r, again); why != "" || diff != "" {
			t.Fatalf("%s (-first +again):\n%s", why, diff)
		}
	})
}

// FuzzChunk cuts chunks that damage made into records and takes some out.
func FuzzChunk(f *testing.F) {
	f.Add([]byte("\x01a\x02bc\x00"), uint8(1))
	f.Fuzz(func(t *testing.T, chunk []byte, slot uint8) {
		out, _, ok := without(chunk, map[int]bool{int(slot): true})
		if !ok {
			return
		}
		if b := recordAt(out, int(slot)); len(b) > 0 {
			t.Fatalf("record %d is still there: %q", slot, b)
		}
		for i := range int(slot) {
			if want, got := recordAt(chunk, i), recordAt(out, i); string(want) != string(got) {
				t.Fatalf("record %d changed from %q to %q", i, want, got)
			}
		}
	})
}

// FuzzLump reads lumps that damage made: whatever is accepted must come back
// as it was.
func FuzzLump(f *testing.F) {
	l := lump{first: 66}
	l.add(spot{chunk: 1000, slot: 2, label: 3}, "b")
	l.add(spot{chunk: 1001, slot: 0, label: 4}, "a")
	f.Add(l.appendTo(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		l, _, ok := parseLump(1, b)
		if !ok {
			return
		}
		again, rest, ok := parseLump(1, l.appendTo(nil))
		if diff := cmp.Diff(l, again, cmp.AllowUnexported(lump{}, spot{})); !ok || len(rest) > 0 || diff != "" {
			t.Fatalf("%v, %d bytes left (-first +again):\n%s", ok, len(rest), diff)
		}
	})
}

// TestBuckets grows a table bucket by bucket: each hash stays where it is or
// moves to the new bucket.
func TestBuckets(t *testing.T) {
	t.Parallel()
	for n := int64(1); n < 300; n++ {
		for hash := range uint32(2000) {
			hash *= 2654435761
			was, is := bucketOf(hash, n), bucketOf(hash, n+1)
			if was < 0 || was >= n || (is != was && is != n) {
				t.Fatalf("hash %d moves from bucket %d of %d to %d", hash, was, n, is)
			}
		}
	}
}

func FuzzIDs(f *testing.F) {
	for _, id := range []string{"", "x", "0f0e0d0c-0b0a-4908-8706-050403020100", "0F0E0D0C-0B0A-4908-8706-050403020100", "0f0e0d0c+0b0a-4908-8706-050403020100"} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, s string) {
		parent, rest, ok := cutID(append(appendID(nil, event.ID(s)), "rest"...))
		if !ok || parent != event.ID(s) || string(rest) != "rest" {
			t.Fatalf("%q came back as %q, %q, %v", s, parent, rest, ok)
		}
	})
}

func FuzzStatusAndBody(f *testing.F) {
	f.Add([]byte(`{"key":"execution_status","value":"running"}`))
	f.Add([]byte(`{"llm_message":{"content":[{"type":"text","text":"running"}]}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		eventstream.Changes(eventstream.Record{Kind: "ConversationStateUpdateEvent", JSON: raw})
		inMessage(raw, "running")
	})
}
